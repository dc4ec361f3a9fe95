module github.com/postern-ai/postern/clients/go

go 1.23.0

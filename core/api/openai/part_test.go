package openai_test

import "github.com/postern-ai/postern/core/abi"

func wirePart(members []byte) abi.Part { return abi.Part{Data: members} }

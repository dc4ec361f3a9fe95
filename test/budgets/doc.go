// Package budgets explores the protocol of a tree of budgets exhaustively: every order of the commands, replies, losses
// and crashes of a few requests whose meters compete for the last budget of Ledgers on a common path. The Ledgers and
// the meters' chains are the shipped reducers; the requests follow the protocol of an exchange.
//
// The package has test files only.
package budgets

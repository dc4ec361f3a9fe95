// Package postern is the client library of Postern, an AI gateway.
//
// A Client needs an API key, and the gateway's address unless it runs on this machine. Both can come from POSTERN_API_KEY
// and POSTERN_BASE_URL:
//
//	client, err := postern.New()
//	if err != nil {
//		return err
//	}
//	stream := client.AI.Chat(ctx, postern.CompletionParams{
//		Messages: []postern.Message{postern.User("Hello!")},
//	})
//	for event, err := range stream.Events() {
//		if err != nil {
//			return err
//		}
//		if delta, ok := event.(postern.DeltaEvent); ok {
//			fmt.Print(delta.Text)
//		}
//	}
//
// # Absent and zero
//
// In parameters, options and results, a zero value means absent. Where a zero value has a meaning of its own, as a
// temperature of 0, the field is a pointer; Ptr makes one.
//
// # Errors
//
// Every error is an Error, and errors.As finds its type: a *BudgetExceededError, for example, is an *APIError too, which
// has the gateway's code, the request ID and the problems of the request. A canceled context is found by errors.Is(err,
// context.Canceled); a passed deadline of the context by errors.Is(err, context.DeadlineExceeded), whereas the timeout of
// an attempt is an *APITimeoutError.
//
// # Retries
//
// A call makes up to three attempts: after a failed connection, a timeout, and the statuses 408, 409, 429 and from 500,
// unless the response says otherwise. The pause is what the response asks for, or grows from half a second. Streams are
// retried until their headers have arrived. Without WithIdempotency, a completion whose connection broke may be paid twice.
// Changes of violations and models, and Post, are repeated only if the gateway has surely not made them.
//
// Calls of a client that wait at the same time, because responses ask for it, come back one after another.
//
// # Functions of yours
//
// A key may come from a function (WithAPIKeyFunc), and hooks see each attempt and response (WithRequestHook,
// WithResponseHook). They are called by several goroutines at a time. Their context is that of the attempt: canceling the
// call or the timeout ends the call, also while they run.
//
// # Money
//
// Costs of completions are in US cents, budgets and reports in US dollars, both as float64: exact amounts are decimal
// fractions, so compare with a tolerance.
package postern

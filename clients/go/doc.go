// Package postern is the client library of Postern, an AI gateway.
//
// A Client needs an API key. It also needs the gateway's address, unless the gateway runs on this machine. Both can
// come from POSTERN_API_KEY and POSTERN_BASE_URL:
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
// In parameters, options and results, a zero value means absent. Where zero has its own meaning, such as a
// temperature of 0, the field is a pointer, which Ptr creates.
//
// # Errors
//
// Every error is an Error, and errors.As finds its type. A *BudgetExceededError, for example, is also an *APIError,
// which has the gateway's code, the request ID and the problems of the request. Use errors.Is(err, context.Canceled)
// to detect a canceled context, and errors.Is(err, context.DeadlineExceeded) to detect that its deadline has passed.
// The timeout of an attempt is an *APITimeoutError.
//
// # Retries
//
// A call makes up to three attempts. It retries after a failed connection, a timeout, and the statuses 408, 409, 429
// and 500 or above, unless the response says otherwise. The pause before a retry is as long as the response asks for.
// If it asks for none, the pause starts at half a second and grows. Streams are retried until their headers have
// arrived. Without WithIdempotency, a completion whose connection broke may be charged twice. Changes to violations
// and models, and calls of Post, are retried only if the gateway is certain not to have executed them.
//
// If responses ask several calls of a client to wait at the same time, the calls resume one after another.
//
// # Your own functions
//
// A key may come from a function (WithAPIKeyFunc), and hooks see each attempt and response (WithRequestHook,
// WithResponseHook). Several goroutines may call these functions at the same time. They receive the attempt's
// context. The call ends when that context is canceled or times out, even while a function is running.
//
// # Money
//
// Costs of completions are in US cents; budgets and reports are in US dollars. Both are float64 values, which cannot
// represent every decimal fraction, so compare them with a tolerance.
package postern

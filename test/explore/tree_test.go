package explore_test

import (
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// inGroup puts the key's project into a group below the deployment.
func inGroup(r *doc.Record) {
	r.Chain = []doc.Node{{ID: doc.Root}, {ID: "grp_1", Name: "Research"}}
}

// lacking is the reply of a meter whose slices of the given Ledgers are too small. "" means the project's Ledger.
func lacking(name string, need int64, ledgers ...string) choice {
	reply := keymeter.AdmitReply{Verdict: keymeter.Short}
	for _, l := range ledgers {
		reply.Levels = append(reply.Levels, keymeter.ShortLevel{Ledger: l, Period: period, Epoch: 3, HeldPico: 500, NeedPico: need, LeastPico: need / 10})
	}
	return verdict(name, reply)
}

// ordered returns a filter for Admits and Extends. If want is true, it accepts only ordered commands. Otherwise, it
// accepts only commands that are not ordered.
func ordered(want bool) func(any) bool {
	return func(command any) bool {
		switch c := command.(type) {
		case *keymeter.Admit:
			return c.Ordered == want
		case *keymeter.Extend:
			return c.Ordered == want
		}
		return false
	}
}

var (
	lacksAll     = lacking("all levels lack budget", 1000, doc.Root, "grp_1", "").given(ordered(false))
	lacksTwo     = lacking("two levels lack budget", 1000, "grp_1", "").given(ordered(false))
	lacksToLend  = lacking("two levels lack budget to lend", 0, doc.Root, "").given(ordered(false))
	lacksRoot    = lacking("the deployment lacks budget", 1000, doc.Root).given(ordered(true))
	lacksGroup   = lacking("the group lacks budget", 1000, "grp_1").given(ordered(true))
	lacksProject = lacking("the project lacks budget", 1000, "").given(ordered(true))
	spent        = grant("spent", ledger.GrantReply{Spent: true, Told: true, BudgetPico: 9, SpentPico: 9})
	returned     = ok("a slice", (&keymeter.FlushReply{Return: (&ledger.Return{Key: "meter-2"}).Encode()}).Encode())
	held         = ok("an incomplete reservation", (&keymeter.FlushReply{LentMs: 1500}).Encode())
)

// trees returns requests of a key with budgets above its project.
func trees() []*scenario {
	one := bodyFor("only", messages)
	inTree := alphabet{"key": {record(inGroup)}}
	treePost := func(name, body string, more alphabet, changes ...func(*scenario)) *scenario {
		return post(name, "/v1/chat/completions", body, inTree.with(more), changes...)
	}
	return []*scenario{
		treePost("cold key in a group", one, alphabet{
			"admit": {admitted, lacksAll.only(1), lacksTwo.only(1), rateLimited}, "grant": {granted, grantedLast, noMore, spent, failed, damaged},
			"fetch": {openaiOK},
		}),
		treePost("key in a group that lacks budget after it asked", one, alphabet{
			"admit": {admitted, lacksTwo.only(1), lacksRoot.only(1), lacksGroup.only(1)}, "grant": {granted, noMore, recallOne, nextPage}, "flush": {returned, held, noUsage, failed},
			"absorb": {done, overloaded}, "fetch": {openaiOK},
		}, staysConnected),
		treePost("key in a group that never gets enough", one, alphabet{
			"admit": {lacksTwo, lacksProject}, "grant": {granted, noMore, recallOne}, "flush": {someUsage, held},
		}, staysConnected),
		treePost("key in a group whose rest other requests hold", one, alphabet{
			"admit": {lacksTwo.only(1), lacksGroup}, "grant": {recallOne, noMore.given(afterMeter("meter-3"))}, "flush": {held},
		}, staysConnected),
		treePost("cached response for a key in a group", one, alphabet{
			"key": {record(both(inGroup, cached))}, "cache": {absent, failed}, "admit": {admitted, lacksTwo.only(1), lacksGroup.only(1)}, "grant": {granted, noMore, spent},
			"fetch": {openaiOK},
		}, mayName("only")),
		treePost("stream of a key in a group", streaming(bodyFor("only", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiLong)}, "extend": {admitted, lacksRoot.only(1), lacksGroup.only(1), unknown}, "grant": {granted, noMore, recallOne.only(2), failed}, "flush": {returned, held},
		}),
		treePost("request for a lease of a key in a group", one, alphabet{
			"key": {record(both(inGroup, lendingPlan))}, "admit": {lending, lacksToLend.only(1)}, "grant": {granted, failed}, "report-lease": {renewed}, "fetch": {openaiOK},
		}, entryOf(hotEntry())),
	}
}

package archtest

const examples = "an example is what somebody outside this module can copy: it uses what they can use"

// rules are the imports of the module, from the leaves up. What is not named is forbidden.
var rules = []rule{
	{"internal/sqlitedb", nil, "opening a database is a leaf that every store uses"},
	{"internal/sqlitedb/sqlitedbtest", []string{"internal/sqlitedb"}, "what the tests of stores share knows no store"},
	{"internal/hostile", nil, "telling odd text is a leaf that every reader of outside text can share"},
	{"internal/excerpt", nil, "picking lines of a text is a leaf that every describer of results can share"},
	{"internal/reference", nil, "reading references is a leaf that every store can share"},
	{"internal/subprocess", nil, "ending other programs is a leaf that whoever starts some can share"},
	{"internal/human", nil, "writing numbers for people is a leaf that every front end can share"},
	{"internal/testmodel", nil, "tests of every package find their models through it"},
	{"internal/testgguf", nil, "tests of every package write their model files with it"},
	{"internal/archtest", nil, "the checks read the tree and depend on nothing in it"},

	{"graph/checkpoint", nil, "a saver is written against these types alone, also outside this module"},
	{"graph/checkpoint/savertest", []string{"graph/checkpoint"}, "the conformance suite serves savers that know nothing but the interface"},
	{"graph/checkpoint/sqlite", []string{"graph/checkpoint", "internal/sqlitedb"}, "the saver stores what the graph gives it and does not run graphs"},
	{"graph/store/fulltext", nil, "cutting text into tokens is a leaf that every store can share"},
	{"graph/store", []string{"graph/store/fulltext"}, "a store is written against these types alone, also outside this module"},
	{"graph/store/storetest", []string{"graph/store"}, "the conformance suite serves stores that know nothing but the interface"},
	{"graph/store/sqlite", []string{"graph/store", "graph/store/fulltext", "internal/sqlitedb"}, "the store keeps items and knows no graphs"},
	{"graph", []string{"graph/checkpoint", "graph/store"}, "the graph library is used without the agent, with any saver and any store"},
	{"graph/llmstream", []string{"graph"}, "a graph knows no models; who has one adds this"},

	{"examples/graph/approval", []string{"graph", "graph/checkpoint/sqlite"}, examples},
	{"examples/graph/chat", []string{"graph", "graph/checkpoint/sqlite", "graph/llmstream", "graph/store", "graph/store/sqlite"}, examples},
	{"examples/graph/effect", []string{"graph", "graph/checkpoint/sqlite"}, examples},
	{"examples/graph/mapreduce", []string{"graph"}, examples},
	{"examples/graph/subgraph", []string{"graph"}, examples},

	{"engine/llama", nil, "the binding is thin: no policy, nothing to decide"},
	{"engine/gguf", nil, "model files are inspected before any of the engine runs"},
	{"engine/kvstore", nil, "the store keeps bytes by their key; what they mean is the engine's matter"},
	{"engine/gbnf", nil, "what a grammar forces is known without a model"},
	{"engine", []string{"engine/llama", "engine/gbnf", "engine/gguf", "engine/kvstore"}, "the engine serves any caller of llms.Model, not this agent"},

	{"artifacts", []string{"internal/excerpt", "internal/hostile", "internal/reference", "internal/sqlitedb"}, "stores do not know each other; tools and agent bring them together"},
	{"lifecycle", []string{"graph/store/fulltext", "internal/reference", "internal/sqlitedb"}, "stores do not know each other; cutting text into tokens is a leaf that every store can share"},
	{"conversation", []string{"internal/sqlitedb"}, "stores do not know each other; agent and app bring them together"},
	{"tools", []string{"artifacts", "internal/excerpt", "internal/hostile", "lifecycle"}, "tools are called by anybody with JSON arguments, without a graph or a model"},
	{"templates", nil, "role texts are data"},
	{"telemetry", nil, "recording must not influence what is recorded"},
	{"config", nil, "settings are plain values; app turns them into parts"},

	{"agent", []string{
		"graph", "graph/checkpoint", "engine", "tools", "artifacts", "lifecycle", "templates", "internal/excerpt",
	}, "the agent runs with any saver, any llms.Model and any settings, which app chooses"},

	{"app", []string{
		"agent", "artifacts", "config", "conversation", "engine", "engine/gguf", "engine/kvstore", "engine/llama", "graph", "graph/checkpoint", "graph/checkpoint/sqlite",
		"internal/human", "internal/sqlitedb", "lifecycle", "telemetry", "templates", "tools",
	}, "app wires the parts and is used by every front end; it knows none of them"},

	{"benchmark", []string{"app", "config", "internal/subprocess"}, "the benchmark measures what users run, so it goes through app"},
	{"benchmark/peers", []string{"app", "benchmark", "config", "internal/subprocess", "telemetry"}, "the peers get llama-agent's own prompt, tools and judge, which nobody else has to give away"},
	{"tui/cells", []string{"internal/hostile"}, "cells of a terminal are values; what they show is the caller's matter"},
	{"tui/markdown", []string{"tui/cells"}, "text becomes lines without a terminal, so that the result can be tested on values"},
	{"tui/editor", []string{"tui/cells"}, "the input is a model without a terminal, so that it can be tested on values"},
	{"tui", []string{"app", "internal/human", "tui/cells", "tui/editor", "tui/markdown"}, "a front end shows what app offers"},
	{"cmd/llama-agent", []string{"app", "benchmark", "config", "internal/human", "tui"}, "a command parses flags and prints; what it does is in app"},
}

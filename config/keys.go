package config

import (
	"slices"
	"time"
)

var (
	tokens  = intKind[int]{min: 0, max: 1 << 20}
	count   = intKind[int]{min: 1, max: 10000}
	chars   = intKind[int]{min: 1, max: 100_000_000}
	seconds = durationKind{unit: time.Second, min: 0, max: 7 * 24 * 3600}
	// A tool always has a time limit: one that hangs would block the task for ever.
	toolSeconds = durationKind{unit: time.Second, min: 0.1, max: 24 * 3600}
)

// keys holds every setting, in the order of the documented file.
var keys = slices.Concat(agentKeys(), engineKeys(), nodeKeys(), toolKeys(), memoryKeys(), telemetryKeys(), tuiKeys())

func agentKeys() []*key {
	const s = "agent"
	return []*key{
		define(s, "max_iterations", intKind[int]{min: 1, max: 50}, 6, func(c *Config) *int { return &c.Agent.MaxIterations },
			"Rounds of planning and reflecting before the answer is written with what is known.", outcome),
		define(s, "max_plan_steps", intKind[int]{min: 1, max: 50}, 8, func(c *Config) *int { return &c.Agent.MaxPlanSteps },
			"Steps of one plan.", outcome),
		define(s, "max_tool_rounds_per_step", intKind[int]{min: 1, max: 50}, 4, func(c *Config) *int { return &c.Agent.MaxToolRoundsPerStep },
			"Rounds of tool call and result inside one step.", outcome),
		define(s, "max_tool_calls", intKind[int]{min: 1, max: 1000}, 24, func(c *Config) *int { return &c.Agent.MaxToolCalls },
			"Tool calls of one task.", outcome),
		define(s, "task_timeout_seconds", seconds, 0, func(c *Config) *time.Duration { return &c.Agent.TaskTimeout },
			"Time limit of one task; at the limit the answer is written with what is known. 0: no limit."),
		define(s, "db_path", textKind{"file"}, "data/checkpoints.sqlite", func(c *Config) *string { return &c.Agent.DBPath },
			"Database of tasks: every step is stored here, so that a task can be resumed.", path),
		define(s, "checkpoint_keep", intKind[int]{min: 0, max: 1_000_000}, 0, func(c *Config) *int { return &c.Agent.CheckpointKeep },
			"Newest checkpoints that list-threads --prune keeps of each task. 0: all."),
		define(s, "durability", enumKind{words: []string{"sync", "async", "exit"}}, "sync", func(c *Config) *string { return &c.Agent.Durability },
			"When a step is stored: before the next one starts (sync), while it runs (async), or when the task ends (exit)."),
		define(s, "log_level", enumKind{words: []string{"debug", "info", "warn", "error"}}, "info", func(c *Config) *string { return &c.Agent.LogLevel },
			"Detail of the log on stderr. With --verbose, debug also logs every prompt and reply of the model."),
		define(s, "conversation_db_path", textKind{"file"}, "data/conversations.sqlite", func(c *Config) *string { return &c.Agent.ConversationDBPath },
			"Database of conversations.", path),
		define(s, "conversation_history_turns", intKind[int]{min: 0, max: 1000}, 8, func(c *Config) *int { return &c.Agent.ConversationHistoryTurns },
			"Earlier turns of a conversation that the model sees.", outcome),
		define(s, "conversation_history_token_budget", tokens, 4096, func(c *Config) *int { return &c.Agent.ConversationHistoryTokenBudget },
			"Tokens that these turns may take together.", outcome),
	}
}

func engineKeys() []*key {
	const s = "engine"
	return []*key{
		define(s, "model_path", textKind{"GGUF file"}, "", func(c *Config) *string { return &c.Engine.ModelPath },
			"The model. Required for commands that ask it.", input, outcome),
		define(s, "n_ctx", intKind[int]{min: 256, max: 1 << 20, except: []int{0}}, 0, func(c *Config) *int { return &c.Engine.NCtx },
			"Context size in tokens. 0: the model's own, at most 16384.", outcome),
		define(s, "n_gpu_layers", intKind[int]{min: -1, max: 10000}, 0, func(c *Config) *int { return &c.Engine.NGPULayers },
			"Layers of the model on the GPU. -1: all. Ignored by a build without a GPU back end."),
		define(s, "n_batch", intKind[int]{min: 1, max: 65536}, 512, func(c *Config) *int { return &c.Engine.NBatch },
			"Tokens evaluated together while the prompt is read."),
		define(s, "n_threads", intKind[int]{min: 0, max: 1024}, 0, func(c *Config) *int { return &c.Engine.NThreads },
			"Threads of the engine. 0: one for each physical core."),
		define(s, "parallel", intKind[int]{min: 1, max: 64}, 4, func(c *Config) *int { return &c.Engine.Parallel },
			"Requests and cached prompts that the engine holds at the same time."),
		define(s, "tool_format", enumKind{words: []string{"auto", "native", "structured"}}, "auto", func(c *Config) *string { return &c.Engine.ToolFormat },
			"How the model calls tools: in the format of its own template (native), as a constrained object (structured), or what suits the model (auto).", outcome),
		define(s, "chat_template", textKind{"file"}, "", func(c *Config) *string { return &c.Engine.ChatTemplate },
			"File with a Jinja chat template. Empty: the model's own.", input, outcome),
		define(s, "temperature", floatKind{min: 0, max: 5}, 0.2, func(c *Config) *float64 { return &c.Engine.Temperature },
			"Randomness of sampling. 0: always the likeliest token.", outcome),
		define(s, "top_p", floatKind{min: 0, max: 1}, 0.9, func(c *Config) *float64 { return &c.Engine.TopP },
			"Sample among the likeliest tokens whose probabilities add up to this. 1: off.", outcome),
		define(s, "top_k", intKind[int]{min: -1, max: 1_000_000}, 40, func(c *Config) *int { return &c.Engine.TopK },
			"Sample among this many likeliest tokens. 0 or -1: off.", outcome),
		define(s, "min_p", floatKind{min: 0, max: 1}, 0, func(c *Config) *float64 { return &c.Engine.MinP },
			"Leave out tokens less likely than this share of the likeliest. 0: off.", outcome),
		define(s, "repeat_penalty", floatKind{min: 0, max: 10, open: true}, 1.1, func(c *Config) *float64 { return &c.Engine.RepeatPenalty },
			"Penalty of tokens that were used before. 1: off.", outcome),
		define(s, "max_tokens", intKind[int]{min: 1, max: 1 << 20}, 512, func(c *Config) *int { return &c.Engine.MaxTokens },
			"Tokens of one reply.", outcome),
		define(s, "seed", intKind[int64]{min: -1, max: 1<<32 - 1}, -1, func(c *Config) *int64 { return &c.Engine.Seed },
			"Seed of sampling. -1: another one each run.", outcome),
		define(s, "stop", listKind{"texts"}, []string{}, func(c *Config) *[]string { return &c.Engine.Stop },
			"Texts that end a reply.", outcome),
		define(s, "request_timeout", seconds, 0, func(c *Config) *time.Duration { return &c.Engine.RequestTimeout },
			"Time limit in seconds of one model call. 0: no limit."),
		define(s, "disable_thinking", boolKind{}, true, func(c *Config) *bool { return &c.Engine.DisableThinking },
			"Ask models that can think aloud not to.", outcome),
		define(s, "flash_attention", enumKind{words: []string{"auto", "on", "off"}, switches: true}, "auto", func(c *Config) *string { return &c.Engine.FlashAttention },
			"Flash attention."),
		define(s, "kv_cache_type", enumKind{words: []string{"f16", "f32", "q8_0", "q4_0"}}, "f16", func(c *Config) *string { return &c.Engine.KVCacheType },
			"Number format of the KV cache. A quantized one takes less memory and is slower on a CPU.", outcome),
		define(s, "kv_store_path", textKind{"folder"}, "data/kv", func(c *Config) *string { return &c.Engine.KVStorePath },
			"Folder for the KV cache of prompts that come again, so that they are not evaluated twice.", path),
		define(s, "kv_store_max_bytes", bytesKind{}, 4<<30, func(c *Config) *int64 { return &c.Engine.KVStoreMaxBytes },
			"Size of that folder. 0: off."),
		define(s, "lora", adaptersKind{}, []Adapter{}, func(c *Config) *[]Adapter { return &c.Engine.LoRA },
			"LoRA adapters in GGUF format that were made for the model.", input, outcome),
		define(s, "verbose", boolKind{}, false, func(c *Config) *bool { return &c.Engine.Verbose },
			"Show the engine's own log."),
	}
}

func nodeKeys() []*key {
	var list []*key
	for _, n := range []struct {
		name string
		at   func(*Config) *Node
	}{
		{"planner", func(c *Config) *Node { return &c.Engine.Nodes.Planner }},
		{"executor", func(c *Config) *Node { return &c.Engine.Nodes.Executor }},
		{"reflector", func(c *Config) *Node { return &c.Engine.Nodes.Reflector }},
		{"finalizer", func(c *Config) *Node { return &c.Engine.Nodes.Finalizer }},
	} {
		s := "engine.nodes." + n.name
		list = append(list,
			define(s, "temperature", optional[float64]{floatKind{min: 0, max: 5}}, nil, func(c *Config) **float64 { return &n.at(c).Temperature },
				"Randomness of the "+n.name+"'s replies. Not set: as in [engine].", outcome),
			define(s, "max_tokens", optional[int]{intKind[int]{min: 1, max: 1 << 20}}, nil, func(c *Config) **int { return &n.at(c).MaxTokens },
				"Tokens of one reply of the "+n.name+". Not set: as in [engine].", outcome))
	}
	return list
}

func toolKeys() []*key {
	roots := func(section string, at func(*Config) *[]string) *key {
		return define(section, "allowed_roots", listKind{"folders"}, []string{"."}, at,
			"Folders that these tools may read.", path, outcome)
	}
	timeout := func(section string, def time.Duration, at func(*Config) *time.Duration, what string) *key {
		return define(section, "timeout_seconds", toolSeconds, def, at, "Time limit of "+what+".", outcome)
	}
	const tools, shell, file, log, sqlite, artifact, skills = "tools", "tools.shell", "tools.file", "tools.log", "tools.sqlite", "tools.artifact", "tools.skills"
	return []*key{
		define(tools, "enabled_tools", listKind{"tool names"}, []string{}, func(c *Config) *[]string { return &c.Tools.EnabledTools },
			"The only tools that the model may use. Empty: all.", outcome),
		timeout(tools, 30*time.Second, func(c *Config) *time.Duration { return &c.Tools.Timeout }, "one tool call, where its family has no own"),
		define(tools, "max_output_chars", chars, 300_000, func(c *Config) *int { return &c.Tools.MaxOutputChars },
			"Characters of one tool result; the rest is left out and counted.", outcome),

		define(shell, "allowed_commands", listKind{"program names"},
			[]string{"ls", "cat", "pwd", "echo", "grep", "find", "wc", "head", "tail", "sort", "uniq", "cut", "stat", "file", "du", "date", "git"},
			func(c *Config) *[]string { return &c.Tools.Shell.AllowedCommands },
			"Programs that the shell tool may run. Each also has rules for its arguments.", outcome),
		timeout(shell, 10*time.Second, func(c *Config) *time.Duration { return &c.Tools.Shell.Timeout }, "one shell command"),

		roots(file, func(c *Config) *[]string { return &c.Tools.File.AllowedRoots }),
		define(file, "max_read_chars", chars, 300_000, func(c *Config) *int { return &c.Tools.File.MaxReadChars },
			"Characters of a file that one call returns.", outcome),
		define(file, "max_matches", count, 50, func(c *Config) *int { return &c.Tools.File.MaxMatches },
			"Matches that one search returns.", outcome),
		timeout(file, 10*time.Second, func(c *Config) *time.Duration { return &c.Tools.File.Timeout }, "one call"),

		roots(log, func(c *Config) *[]string { return &c.Tools.Log.AllowedRoots }),
		define(log, "max_read_chars", chars, 300_000, func(c *Config) *int { return &c.Tools.Log.MaxReadChars },
			"Characters of a log that one call returns.", outcome),
		define(log, "max_matches", count, 50, func(c *Config) *int { return &c.Tools.Log.MaxMatches },
			"Lines that one search shows, and kinds of messages that one summary lists.", outcome),
		define(log, "max_window_lines", count, 40, func(c *Config) *int { return &c.Tools.Log.MaxWindowLines },
			"Lines of one log window.", outcome),
		timeout(log, 10*time.Second, func(c *Config) *time.Duration { return &c.Tools.Log.Timeout }, "one call"),

		roots(sqlite, func(c *Config) *[]string { return &c.Tools.SQLite.AllowedRoots }),
		define(sqlite, "max_rows", count, 100, func(c *Config) *int { return &c.Tools.SQLite.MaxRows },
			"Rows that one query returns.", outcome),
		timeout(sqlite, 10*time.Second, func(c *Config) *time.Duration { return &c.Tools.SQLite.Timeout }, "one query"),

		define(artifact, "storage_dir", textKind{"folder"}, "data/artifacts", func(c *Config) *string { return &c.Tools.Artifact.StorageDir },
			"Folder for large tool results.", path),
		define(artifact, "max_retrieve_bytes", bytesKind{min: 256}, 8192, func(c *Config) *int64 { return &c.Tools.Artifact.MaxRetrieveBytes },
			"Bytes that one retrieval returns.", outcome),
		define(artifact, "max_search_matches", count, 10, func(c *Config) *int { return &c.Tools.Artifact.MaxSearchMatches },
			"Matches that one search in a stored result returns.", outcome),
		define(artifact, "max_bytes", bytesKind{}, 2<<30, func(c *Config) *int64 { return &c.Tools.Artifact.MaxBytes },
			"Size of the folder; what was not used for longest goes first. 0: no limit."),
		define(artifact, "max_age_days", intKind[int]{min: 0, max: 36500}, 0, func(c *Config) *int { return &c.Tools.Artifact.MaxAgeDays },
			"Age at which an unused result goes. 0: no limit."),

		define(skills, "dirs", listKind{"folders"}, []string{"skills"}, func(c *Config) *[]string { return &c.Tools.Skills.Dirs },
			"Folders with skills.", path, outcome),
		timeout(skills, 15*time.Second, func(c *Config) *time.Duration { return &c.Tools.Skills.Timeout }, "one command of a skill"),
	}
}

func memoryKeys() []*key {
	const s = "memory"
	ratio := floatKind{min: 0, max: 1, open: true}
	number := intKind[int]{min: 0, max: 10000}
	return []*key{
		define(s, "artifact_virtualization", boolKind{}, false, func(c *Config) *bool { return &c.Memory.ArtifactVirtualization },
			"R1: keep large tool results outside the prompt; the model sees a short description and reads the rest on demand.", outcome),
		define(s, "artifact_inline_max_bytes", bytesKind{}, 8192, func(c *Config) *int64 { return &c.Memory.ArtifactInlineMaxBytes },
			"Results up to this size stay in the prompt.", outcome),
		define(s, "artifact_preview_chars", intKind[int]{min: 0, max: 1_000_000}, 1200, func(c *Config) *int { return &c.Memory.ArtifactPreviewChars },
			"Characters of a large result that are shown, half from its start and half from its end, and at most half as many of the lines between that fit the task.", outcome),
		define(s, "artifact_summary_chars", intKind[int]{min: 0, max: 1_000_000}, 600, func(c *Config) *int { return &c.Memory.ArtifactSummaryChars },
			"Characters of its summary.", outcome),

		define(s, "lifecycle_context", boolKind{}, false, func(c *Config) *bool { return &c.Memory.LifecycleContext },
			"R2: choose what the model sees of a long history by age and relevance. Needs artifact_virtualization.", outcome),
		define(s, "context_store_path", textKind{"file"}, "data/context_memory.sqlite", func(c *Config) *string { return &c.Memory.ContextStorePath },
			"Database of memories.", path),
		define(s, "context_budget_tokens", tokens, 12000, func(c *Config) *int { return &c.Memory.ContextBudgetTokens },
			"Tokens that history and results may take together.", outcome),
		define(s, "context_activation_tokens", tokens, 2048, func(c *Config) *int { return &c.Memory.ContextActivationTokens },
			"Histories up to this size are shown whole.", outcome),
		define(s, "context_trigger_ratio", ratio, 0.75, func(c *Config) *float64 { return &c.Memory.ContextTriggerRatio },
			"Share of the budget at which older results are compacted.", outcome),
		define(s, "context_reserved_generation_tokens", tokens, 1024, func(c *Config) *int { return &c.Memory.ContextReservedGenerationTokens },
			"Tokens kept free for the reply.", outcome),
		define(s, "context_min_compaction_bytes", bytesKind{}, 2048, func(c *Config) *int64 { return &c.Memory.ContextMinCompactionBytes },
			"Results below this size are not compacted.", outcome),
		define(s, "context_min_compaction_ratio", floatKind{min: 0, max: 1}, 0.30, func(c *Config) *float64 { return &c.Memory.ContextMinCompactionRatio },
			"Share of its size that a compaction must save.", outcome),
		define(s, "hot_execution_records", number, 4, func(c *Config) *int { return &c.Memory.HotExecutionRecords },
			"Newest tool results that stay whole, as far as they fit summary_trigger_tokens together with the summaries of the older ones.", outcome),
		define(s, "hot_conversation_turns", number, 4, func(c *Config) *int { return &c.Memory.HotConversationTurns },
			"Newest turns that stay whole when a history exceeds context_activation_tokens.", outcome),
		define(s, "hot_reflection_notes", number, 2, func(c *Config) *int { return &c.Memory.HotReflectionNotes },
			"Newest notes of the reflector that stay whole.", outcome),
		define(s, "summary_trigger_tokens", tokens, 6000, func(c *Config) *int { return &c.Memory.SummaryTriggerTokens },
			"Results that take more than this together are compacted, whatever the budget.", outcome),
		define(s, "summary_target_chars", chars, 800, func(c *Config) *int { return &c.Memory.SummaryTargetChars },
			"Characters of the summary of a compacted result.", outcome),
		define(s, "context_retrieval_top_k", number, 3, func(c *Config) *int { return &c.Memory.ContextRetrievalTopK },
			"Older records that are brought back because they fit the question.", outcome),
		define(s, "context_retrieval_token_budget", tokens, 2000, func(c *Config) *int { return &c.Memory.ContextRetrievalTokenBudget },
			"Tokens that these may take together.", outcome),
		define(s, "checkpoint_compaction", boolKind{}, true, func(c *Config) *bool { return &c.Memory.CheckpointCompaction },
			"Store only the summary of compacted results in later checkpoints.", outcome),
	}
}

func telemetryKeys() []*key {
	const s = "telemetry"
	return []*key{
		define(s, "enabled", boolKind{}, false, func(c *Config) *bool { return &c.Telemetry.Enabled },
			"Record model calls, tool calls and memory use of each task."),
		define(s, "output_dir", textKind{"folder"}, "data/telemetry", func(c *Config) *string { return &c.Telemetry.OutputDir },
			"Folder of the records.", path),
		define(s, "sample_interval_ms", durationKind{unit: time.Millisecond, min: 10, max: 3_600_000}, 200*time.Millisecond, func(c *Config) *time.Duration { return &c.Telemetry.SampleInterval },
			"Milliseconds between two samples of memory use."),
		define(s, "otlp_endpoint", textKind{"URL"}, "", func(c *Config) *string { return &c.Telemetry.OTLPEndpoint },
			"OpenTelemetry collector for traces. Empty: none; nothing is ever sent unless this is set."),
	}
}

func tuiKeys() []*key {
	const s = "tui"
	limit := intKind[int]{min: 0, max: 10_000_000}
	return []*key{
		define(s, "show_thinking", boolKind{}, false, func(c *Config) *bool { return &c.TUI.ShowThinking },
			"Show what the model thinks before it answers; engine.disable_thinking has to be off. F2 switches."),
		define(s, "thinking_max_chars", limit, 8000, func(c *Config) *int { return &c.TUI.ThinkingMaxChars },
			"Characters of it that are kept."),
		define(s, "show_sidebar", boolKind{}, true, func(c *Config) *bool { return &c.TUI.ShowSidebar },
			"Show the sidebar where there is room for it. F3 switches."),
		define(s, "refresh_interval_ms", durationKind{unit: time.Millisecond, min: 100, max: 60_000}, 300*time.Millisecond, func(c *Config) *time.Duration { return &c.TUI.RefreshInterval },
			"Milliseconds between two updates of the status while something is under way."),
		define(s, "tool_result_preview_chars", limit, 500, func(c *Config) *int { return &c.TUI.ToolResultPreviewChars },
			"Characters of a tool result that are shown before it is opened."),
		define(s, "restore_last_conversation", boolKind{}, true, func(c *Config) *bool { return &c.TUI.RestoreLastConversation },
			"Open the last conversation at the start."),
		define(s, "theme", enumKind{words: []string{"auto", "dark", "light"}}, "auto", func(c *Config) *string { return &c.TUI.Theme },
			"Colours. Auto: those of the terminal, unless COLORFGBG tells the background. NO_COLOR takes precedence."),
		define(s, "log_file", textKind{"file"}, "data/llama-agent-tui.log", func(c *Config) *string { return &c.TUI.LogFile },
			"Log of the full-screen interface, and the one before it in FILE.old. Empty: none.", path),
	}
}

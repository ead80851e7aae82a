// Package graph runs graphs of nodes over typed, durable state: LangGraph's model of computation, for Go.
//
// # State
//
// A graph's state is a set of channels, each with a type and a rule for merging writes: [Value] keeps the last one, [Append]
// collects items, [Reduced] folds, [Ephemeral], [AnyValue] and [Topic] last one superstep, [Untracked] is never stored. A node is a
// function that reads the state and returns an [Update]: writes to channels, and with [Goto] the nodes to run next. Edges, joins
// and branches say what runs after what; [Send] starts a task of its own with a private input.
//
// What a node needs besides, such as a model or a database, it has from its closure or receiver; what differs from run to run
// comes with the context. Neither is stored.
//
// # Supersteps
//
// A run proceeds in supersteps. All tasks of a superstep read the same snapshot and run at the same time; when the last has
// finished, their updates are merged in a fixed order (nodes by name, then tasks started by [Send] as they were sent) and what
// is due next follows from them. The order in which tasks happen to finish doesn't matter. The moment between two supersteps is
// a boundary.
//
// # Durability
//
// With a saver and a [Thread], every boundary is stored in one transaction, and so is the result of a task that has finished
// while others of its superstep still run. A run that was stopped, failed, was interrupted or crashed continues at its last
// boundary without running finished tasks again: call [Graph.Invoke] or [Graph.Stream] with a nil input. What a node does to the
// outside world belongs in [Once], which records the intent before and the result after, so that a node that runs again doesn't
// do it again. One run at a time owns a thread.
//
// [Graph.State], [Graph.History] and [Graph.UpdateState] read, list and edit the states of a thread, and [FromCheckpoint] begins
// a fork. What the saver offers beyond that, such as listing, copying and removing threads, is in package checkpoint.
//
// # People
//
// A node asks a person or program with [Interrupt] and gets the answer when the run is resumed, see [Resume] and [Answer].
// Breakpoints stop a run before or after nodes. [Command] changes the state of a thread as it is continued.
//
// # Failures
//
// [Retry], [Timeout], [IdleTimeout] and [OnError] say what a failure of a node leads to, [Cache] spares running it. Mistakes in a
// graph are reported by [Builder.Compile], all at once. Mistakes of running code, also panics, are typed errors that name
// graph, node and step, and leave the thread at its last boundary.
//
// # Subgraphs
//
// A graph can be a node of another, see [Builder.Subgraph], or be called by a node, see [Graph.Call]. It stores its checkpoints
// in a namespace of the thread, asks its questions through the graphs above it, and its events are part of their streams, see
// [Subgraphs].
//
// # Streams
//
// [Graph.Stream] yields what happens, in one or several [Mode] values: the state, updates, tasks, boundaries, what nodes [Emit],
// and parts of messages such as the tokens of a model, see [EmitMessage] and package llmstream. [Buffered] lets a run go on
// whatever its consumer does.
//
// # Memory beyond a thread
//
// [Options.Store] is handed to nodes by [StoreFrom]; package store has stores in memory and in SQLite, with search.
//
// # Pictures
//
// [Graph.Diagram] describes a graph, as Mermaid and as DOT.
//
// # For readers of the source
//
// Deciding what is due and merging writes are pure functions (plan.go, apply.go); one goroutine per run, the caller's, owns
// all of the run's state (run.go, execute.go) and nodes reach it through an inbox (calls.go, attempt.go); recorder.go talks to the
// saver.
//
// # What it doesn't do
//
// It knows no models and no tools, and runs in one process: a thread moves between processes through its saver, a superstep
// doesn't.
package graph

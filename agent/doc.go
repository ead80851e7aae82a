// Package agent does one task with a language model and tools: planner → executor → reflector → finalizer, compiled
// with package graph, so that every node is a durable boundary.
//
// All nodes share one prompt, the trunk, that only grows while a task runs. They differ in the last message and in the
// form that the reply must have. A model that keeps the prefix of its last prompt therefore reads a task once, whatever
// the number of calls. See trunk.go for the layout.
//
// The package works with any [llms.Model]. A model that is able to follow a schema gets one with each request; replies
// are checked here all the same, so that a remote model that ignores it costs a retry and never a wrong action. The
// package does not choose tools, read configuration, or print: [Runner] takes a registry, limits and an observer.
package agent

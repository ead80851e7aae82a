// Package lifecycle decides what of a long task or conversation a model is shown, and keeps the rest where it can be found again.
//
// Its deciding half is pure functions over counts of tokens, which the caller asks the model's tokenizer for: [Window] and [Latest]
// choose the newest turns that are shown whole, [Recall] the older ones that are worth showing, [PlanCompaction] the results that
// give way to a summary, and [Importance] weighs them. The same input gives the same result, so that a prompt is the same bytes
// whenever it is built again.
//
// Its keeping half is the [Store]: the full text of everything that a prompt shows only in part, each under a reference such as
// memory://k3v9x2abqwe7t, and the explicit memories, which are facts that the user asked to remember. Whoever has a conversation or
// thread sees its records and no others; memories may also be everybody's in the workspace.
//
// The package writes no prompts and no summaries, and calls no model.
package lifecycle

// Package lifecycle decides what of a long task or conversation a model is shown.
//
// It is pure functions over counts of tokens, which the caller asks the model's tokenizer for: [Window] and [Latest]
// choose the newest turns that are shown whole, [Recall] the older ones that are worth showing, [PlanCompaction] the results that
// give way to a summary, and [Importance] weighs them. The same input gives the same result, so that a prompt is the same bytes
// whenever it is built again.
//
// The package writes no prompts and no summaries, and calls no model.
package lifecycle

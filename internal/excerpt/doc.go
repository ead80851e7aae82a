// Package excerpt picks the lines of a long text that are nearest to a question, without a model and without a dictionary, in
// any language. A description of a large result shows them, so that what was asked for is often in it.
//
// It looks at words only. Whether a line answers the question is for the reader to judge.
package excerpt

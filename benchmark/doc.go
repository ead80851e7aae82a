// Package benchmark holds suites of tasks for the agent, does them with the program in rounds that differ in its switches, and
// judges what it answers.
//
// A suite is a JSON file under workloads/: tasks as users put them, what a right answer holds, and which files or conversation
// are made for it. A sample is one task done once by fresh processes of the program with stores of their own, so that what is
// measured is what users run. The judge looks at the reports only; it asks no model. [Table] puts the rounds side by side.
//
// It does not draw charts, test differences for significance, or go on with a run that was stopped.
package benchmark

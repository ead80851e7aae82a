// Package benchmark holds suites of tasks for the agent, does them with the program in rounds that differ in its switches, and
// judges what it answers.
//
// A suite is a JSON file, such as those under workloads/, which are part of the program: tasks as users put them, what a right
// answer holds, and which files or conversation are made for it. A sample is one task done once by fresh processes of the program
// with stores of their own, so that what is measured is what users run. The judge looks at the reports only; it asks no model.
//
// A [Campaign] does the samples of a plan and keeps what came of them in a folder, where a run that was stopped, by Ctrl-C, a crash
// or a full disk, is resumed. A sample is there as soon as its line in task_results.jsonl is whole; whatever else is kept of it is
// written before, and goes when the line is missing. One process at a time works in a folder.
//
// A folder of results holds a [Manifest] and samples. [LoadResults] reads it, [WriteReport] adds statistics, a report and
// charts, and [Compare] puts two folders side by side. Costs are compared pair by pair of the same case and repetition, with
// intervals: what may be chance is not called a difference.
package benchmark

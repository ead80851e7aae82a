package app

import "github.com/llama-agent/llama-agent/agent"

// Report is what came of a task.
type Report = agent.Report

// Failure says why a task did not end with a complete answer.
type Failure = agent.Failure

// Status is where a task stands.
type Status = agent.Status

// The statuses that end a run, or a stop in it.
const (
	StatusDone        = agent.StatusDone
	StatusFailed      = agent.StatusFailed
	StatusInterrupted = agent.StatusInterrupted
)

// Kinds of failures that interfaces tell apart.
const (
	KindModel          = agent.KindModel
	KindInternal       = agent.KindInternal
	KindOutcomeUnknown = agent.KindOutcomeUnknown
)

// ThreadInfo describes a task in a list.
type ThreadInfo = agent.ThreadInfo

// Boundary is one stored step of a task.
type Boundary = agent.Boundary

// Step is one step of a plan.
type Step = agent.Step

// NoTool is the tool of a step that takes none.
const NoTool = agent.NoTool

// The states of a step.
const (
	StepPending = agent.StepPending
	StepDone    = agent.StepDone
	StepFailed  = agent.StepFailed
	StepRefused = agent.StepRefused
	StepDropped = agent.StepDropped
)

// Call is one tool call with its outcome.
type Call = agent.Call

// CallError says why a tool call did not work.
type CallError = agent.CallError

// Event is what an observer of a task is told: one of the types below.
type Event = agent.Event

// TaskStarted comes first, before the first model call.
type TaskStarted = agent.TaskStarted

// NodeStarted tells which node works now.
type NodeStarted = agent.NodeStarted

// PlanMade tells the whole plan.
type PlanMade = agent.PlanMade

// StepStarted tells that a step begins.
type StepStarted = agent.StepStarted

// StepFinished tells how a step ended.
type StepFinished = agent.StepFinished

// CallStarted tells that a tool is about to run.
type CallStarted = agent.CallStarted

// CallFinished tells the outcome of a call.
type CallFinished = agent.CallFinished

// ModelReplied tells what a model call cost.
type ModelReplied = agent.ModelReplied

// AnswerStarted tells that the answer follows; what came of it before is void.
type AnswerStarted = agent.AnswerStarted

// AnswerDelta is the next part of the answer.
type AnswerDelta = agent.AnswerDelta

// ContextEvent tells what was done to keep prompts small.
type ContextEvent = agent.ContextEvent

// TaskFinished comes last.
type TaskFinished = agent.TaskFinished

// Noted tells something worth knowing that is not a failure.
type Noted = agent.Noted

// Outcome is what came of a call.
type Outcome = agent.Outcome

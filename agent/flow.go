package agent

import (
	"github.com/llama-agent/llama-agent/graph"
)

// The nodes of the graph.
const (
	plannerNode   = "planner"
	executorNode  = "executor"
	reflectorNode = "reflector"
	finalizerNode = "finalizer"
)

// compile wires the nodes: planner → executor, once per step → reflector → planner or finalizer.
func (f *flow) compile(options graph.Options) (*graph.Graph, error) {
	b := graph.New("agent",
		taskChannel, statusChannel, planChannel, transcriptChannel, notesChannel, countersChannel, usageChannel,
		fittingChannel, answerChannel, failureChannel, entryChannel)
	b.Node(plannerNode, f.nodeFunc(plannerNode, StatusPlanning, (*work).makePlan))
	b.Node(executorNode, f.nodeFunc(executorNode, StatusExecuting, (*work).runStep))
	b.Node(reflectorNode, f.nodeFunc(reflectorNode, StatusReflecting, (*work).review))
	b.Node(finalizerNode, f.nodeFunc(finalizerNode, StatusReflecting, (*work).writeAnswer))
	b.Branch(graph.Start, to(routeEntry), plannerNode, executorNode, reflectorNode, finalizerNode)
	b.Branch(plannerNode, to(routePlan), executorNode, finalizerNode)
	b.Branch(executorNode, to(f.routeStep), executorNode, plannerNode, reflectorNode, finalizerNode)
	b.Branch(reflectorNode, to(routeReview), plannerNode, finalizerNode)
	b.Edge(finalizerNode, graph.End)
	return b.Compile(options)
}

func to(route func(graph.State) string) func(graph.State) []graph.Next {
	return func(s graph.State) []graph.Next { return []graph.Next{graph.To(route(s))} }
}

// routeEntry begins with the planner, or where a failed task is taken up again.
func routeEntry(s graph.State) string {
	if node := entryChannel.Get(s); node != "" {
		return node
	}
	return plannerNode
}

func routePlan(s graph.State) string {
	if failureChannel.Get(s) != nil {
		return finalizerNode
	}
	return executorNode
}

// routeStep goes on with the next step. A failed step goes to the review at once, because the steps after it were planned on
// its result. A task that took no tool at all has no evidence to review.
func (f *flow) routeStep(s graph.State) string {
	if failureChannel.Get(s) != nil {
		return finalizerNode
	}
	plan := planChannel.Get(s)
	if entries := transcriptChannel.Get(s); len(entries) > 0 && isGuide(entries[len(entries)-1]) && countersChannel.Get(s).iterations() < f.limits.MaxIterations {
		return plannerNode // what was planned before its instructions were known
	}
	if !lastRunFailed(plan) {
		if _, more := nextStep(plan); more {
			return executorNode
		}
		c := countersChannel.Get(s)
		if planIsFull(transcriptChannel.Get(s), c.Iterations, f.limits.MaxPlanSteps) && c.iterations() < f.limits.MaxIterations {
			return plannerNode
		}
	}
	calls := callsOf(transcriptChannel.Get(s))
	if len(calls) == 0 || f.trustPlan && !needsReview(plan, calls) {
		return finalizerNode
	}
	return reflectorNode
}

// lastRunFailed reports whether the step that ran last has failed. A refused step is no failure, because what comes after it was not
// planned on its result; but a plan with two of them in a row is one of things that are not to be had.
func lastRunFailed(plan []Step) bool {
	refused := 0
	for i := len(plan) - 1; i >= 0 && refused < 2; i-- {
		switch plan[i].State {
		case StepFailed:
			return true
		case StepDone:
			return false
		case StepRefused:
			refused++
		}
	}
	return refused == 2
}

func routeReview(s graph.State) string {
	if failureChannel.Get(s) != nil {
		return finalizerNode
	}
	entries := transcriptChannel.Get(s)
	if last := entries[len(entries)-1].Review; last != nil && last.Decision == DecisionContinue {
		return plannerNode
	}
	return finalizerNode
}

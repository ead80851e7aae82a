package agent_test

func crashChild(string) {}

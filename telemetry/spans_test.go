package telemetry

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// backend is a collector on this machine.
type backend struct {
	*httptest.Server
	mu      sync.Mutex
	status  int
	paths   []string
	headers []http.Header
	spans   []*wire.Span
	service string
}

func newBackend(t *testing.T, status int) *backend {
	t.Helper()
	b := &backend{status: status}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paths, b.headers = append(b.paths, r.URL.Path), append(b.headers, r.Header)
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(data, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, rs := range request.GetResourceSpans() {
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				b.service = a.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			b.spans = append(b.spans, ss.GetSpans()...)
		}
	}
	if b.status/100 == 3 {
		w.Header().Set("Location", b.URL+"/elsewhere")
	}
	w.WriteHeader(b.status)
}

// text of a span: what does not depend on random IDs.
func describe(s *wire.Span, from time.Time) string {
	var attributes []string
	for _, a := range s.GetAttributes() {
		attributes = append(attributes, a.GetKey()+"="+describeValue(a.GetValue()))
	}
	since := func(nanos uint64) time.Duration { return time.Unix(0, int64(nanos)).Sub(from) }
	return fmt.Sprintf("%s %s %s-%s %s [%s]", s.GetName(), strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_"), since(s.GetStartTimeUnixNano()),
		since(s.GetEndTimeUnixNano()), strings.TrimPrefix(s.GetStatus().GetCode().String(), "STATUS_CODE_"), strings.Join(attributes, " "))
}

func describeValue(v *common.AnyValue) string {
	if list := v.GetArrayValue(); list != nil {
		var all []string
		for _, e := range list.GetValues() {
			all = append(all, describeValue(e))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	if _, isInt := v.GetValue().(*common.AnyValue_IntValue); isInt {
		return fmt.Sprint(v.GetIntValue())
	}
	return v.GetStringValue()
}

func TestSpans(t *testing.T) {
	t.Parallel()
	b := newBackend(t, http.StatusOK)
	c, told := newClock(), &told{}
	from := c.Now()
	o := quiet(c, told)
	o.OTLPEndpoint = strings.Replace(b.URL, "http://", "http://me:hunter2@", 1)
	o.Secrets = []string{"top secret"}
	r := openIn(t, t.TempDir(), o)
	task := r.Task("t1")
	c.add(time.Second)
	task.Inference("executor", Inference{PromptTokens: 900, CachedTokens: 800, SampledTokens: 20, ForcedTokens: 5, QueueMS: 10, PrefillMS: 40, DecodeMS: 50, FinishReason: "tool_calls"})
	task.Tool("executor", ToolCall{Tool: "read_file", DurationMS: 2})
	task.Tool("executor", ToolCall{Tool: "shell top secret", DurationMS: 5000, ErrorKind: "timeout"})
	c.add(time.Second)
	task.End("failed")
	r.Task("t2").End("done")
	r.Close(t.Context())

	require.Empty(t, told.lines())
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Equal(t, "/v1/traces", b.paths[0])
	user, password, ok := (&http.Request{Header: b.headers[0]}).BasicAuth()
	require.True(t, ok)
	require.Equal(t, "me:hunter2", user+":"+password)
	require.Equal(t, "llama-agent", b.service)
	var got []string
	for _, s := range b.spans {
		got = append(got, describe(s, from))
	}
	require.Equal(t, []string{
		"chat small CLIENT 900ms-1s UNSET [gen_ai.operation.name=chat gen_ai.provider.name=llama.cpp gen_ai.request.model=small " +
			"gen_ai.usage.input_tokens=900 gen_ai.usage.output_tokens=25 gen_ai.usage.cache_read.input_tokens=800 gen_ai.response.finish_reasons={tool_calls}]",
		"execute_tool read_file INTERNAL 998ms-1s UNSET [gen_ai.operation.name=execute_tool gen_ai.tool.name=read_file gen_ai.tool.type=function]",
		"execute_tool shell [redacted] INTERNAL 0s-1s ERROR [gen_ai.operation.name=execute_tool gen_ai.tool.name=shell [redacted] gen_ai.tool.type=function error.type=timeout]",
		"invoke_agent llama-agent INTERNAL 0s-2s ERROR [gen_ai.operation.name=invoke_agent gen_ai.provider.name=llama.cpp gen_ai.agent.name=llama-agent " +
			"gen_ai.request.model=small gen_ai.conversation.id=t1 gen_ai.usage.input_tokens=900 gen_ai.usage.output_tokens=25 llama_agent.task.status=failed error.type=failed]",
		"invoke_agent llama-agent INTERNAL 2s-2s UNSET [gen_ai.operation.name=invoke_agent gen_ai.provider.name=llama.cpp gen_ai.agent.name=llama-agent " +
			"gen_ai.request.model=small gen_ai.conversation.id=t2 gen_ai.usage.input_tokens=0 gen_ai.usage.output_tokens=0 llama_agent.task.status=done]",
	}, got)
	root := b.spans[3]
	require.Empty(t, root.GetParentSpanId())
	for _, s := range b.spans[:3] {
		require.Equal(t, root.GetSpanId(), s.GetParentSpanId())
		require.Equal(t, root.GetTraceId(), s.GetTraceId())
	}
	require.NotEqual(t, root.GetTraceId(), b.spans[4].GetTraceId())
}

func TestEndpointWithItsOwnPath(t *testing.T) {
	t.Parallel()
	b := newBackend(t, http.StatusOK)
	o := quiet(newClock(), &told{})
	o.OTLPEndpoint = b.URL + "/otel/v1/traces"
	r := openIn(t, t.TempDir(), o)
	r.Task("t").End("done")
	r.Close(t.Context())
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Equal(t, []string{"/otel/v1/traces"}, b.paths)
}

// An endpoint that does not take spans is told once, by its address without the password, and holds nothing up.
func TestEndpointThatFails(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, test := range map[string]struct{ endpoint, says string }{
		"down":       {"http://me:hunter2@" + closed.Addr().String(), "connection refused"},
		"refuses":    {newBackend(t, http.StatusForbidden).URL, "403"},
		"is busy":    {newBackend(t, http.StatusServiceUnavailable).URL, "spans for OpenTelemetry are lost"},
		"redirects":  {newBackend(t, http.StatusTemporaryRedirect).URL, "307"},
		"speaks TLS": {strings.Replace(newBackend(t, 200).URL, "http:", "https:", 1), "HTTP response to HTTPS client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told, dir := &told{}, t.TempDir()
			o := quiet(newClock(), told)
			o.OTLPEndpoint = test.endpoint
			r := openIn(t, dir, o)
			for i := range 3000 { // more than the queue takes
				task := r.Task(fmt.Sprint(i))
				task.span.end(time.Now(), "done", totals{})
			}
			r.Task("t").End("done")
			r.Close(t.Context())
			r.Close(t.Context())
			require.Len(t, told.lines(), 1)
			require.Contains(t, told.lines()[0], test.says)
			require.Contains(t, told.lines()[0], "telemetry.otlp_endpoint")
			require.NotContains(t, told.lines()[0], "hunter2")
		})
	}
}

// An endpoint that takes the connection and never answers. Close returns when its own limit or the caller's is reached, and leaves
// no goroutine, which TestMain checks.
func TestEndpointThatHangs(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(answer)
	told := &told{}
	o := quiet(newClock(), told)
	o.OTLPEndpoint = server.URL
	r := openIn(t, t.TempDir(), o)
	r.Task("t").End("done")
	begun := time.Now()
	r.Close(context.WithoutCancel(t.Context()))
	require.Less(t, time.Since(begun), exportLimit, "it did not wait for the answer")
	<-asked
	require.Len(t, told.lines(), 1)
	require.Contains(t, told.lines()[0], "context deadline exceeded")

	r = openIn(t, t.TempDir(), o)
	r.Task("t").End("done")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	r.Close(ctx)
	require.ErrorIs(t, ctx.Err(), context.Canceled, "the caller's limit came first")
}

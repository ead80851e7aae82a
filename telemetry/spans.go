package telemetry

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last version that defines the GenAI conventions' names
	"go.opentelemetry.io/otel/trace"
)

const (
	agentName    = "llama-agent"
	providerName = "llama.cpp"
	scopeName    = "github.com/llama-agent/llama-agent/telemetry"
)

// exportLimit is the longest that sending spans may take while the task runs. Sending has a goroutine of its own.
const exportLimit = 5 * time.Second

// spans sends what tasks do to a collector, by the OpenTelemetry conventions for generative AI. Spans carry names, counts and
// times; texts of prompts, answers, arguments and results are not known to this package.
type spans struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	http     *http.Client
	model    string
}

// parseEndpoint checks the address of a collector. Without a path it is the base of OTLP's own paths.
func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The text of the error repeats the address, which may hold a password.
		return nil, fmt.Errorf("%w: the OpenTelemetry endpoint (telemetry.otlp_endpoint) is no URL; it looks like http://localhost:4318", ErrOptions)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: the OpenTelemetry endpoint %q (telemetry.otlp_endpoint) is no address of http or https without a query; "+
			"it looks like http://localhost:4318", ErrOptions, u.Redacted())
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u, nil
}

func newSpans(endpoint *url.URL, model string, r redactor, log *slog.Logger) (*spans, error) {
	// Spans go to the endpoint that was named and to no other, so redirections are errors.
	client := &http.Client{
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		Timeout:       exportLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	plain := *endpoint
	plain.User = nil
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(plain.String()), otlptracehttp.WithHTTPClient(client), otlptracehttp.WithTimeout(exportLimit),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: 200 * time.Millisecond, MaxInterval: time.Second, MaxElapsedTime: exportLimit}),
	}
	if user := endpoint.User; user != nil {
		password, _ := user.Password()
		token := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		options = append(options, otlptracehttp.WithHeaders(map[string]string{"Authorization": "Basic " + token}))
	}
	inner, err := otlptracehttp.New(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("%w: preparing the OpenTelemetry endpoint %q: %w", ErrOptions, endpoint.Redacted(), err)
	}
	s := &spans{exporter: newExporter(inner, endpoint.Redacted(), r, log), http: client, model: model}
	s.provider = sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithResource(resource.NewSchemaless(semconv.ServiceName(agentName))),
		sdk.WithBatcher(s.exporter, sdk.WithExportTimeout(exportLimit)), // drops spans rather than wait when its queue is full
	)
	s.tracer = s.provider.Tracer(scopeName, trace.WithSchemaURL(semconv.SchemaURL))
	return s, nil
}

// close sends what is left. It returns when ctx ends, and leaves nothing running.
func (s *spans) close(ctx context.Context) {
	if err := s.provider.Shutdown(ctx); err != nil {
		s.exporter.tell(err)
	}
	s.exporter.stop()
	s.http.CloseIdleConnections()
}

// taskSpan is the span of a task. A nil one does nothing.
type taskSpan struct {
	s    *spans
	from time.Time
	span trace.Span
}

func (s *spans) task(id string, from time.Time) *taskSpan {
	_, span := s.tracer.Start(context.Background(), "invoke_agent "+agentName, trace.WithTimestamp(from), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(semconv.GenAIOperationNameInvokeAgent, semconv.GenAIProviderNameKey.String(providerName),
			semconv.GenAIAgentName(agentName), semconv.GenAIRequestModel(s.model), semconv.GenAIConversationID(id)))
	return &taskSpan{s: s, from: from, span: span}
}

// child records something that ended now and took ms milliseconds. It begins no earlier than the task.
func (t *taskSpan) child(now time.Time, ms float64, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) trace.Span {
	from := now.Add(-time.Duration(min(max(ms, 0), 1e12) * float64(time.Millisecond)))
	if from.Before(t.from) {
		from = t.from
	}
	_, span := t.s.tracer.Start(trace.ContextWithSpan(context.Background(), t.span), name, trace.WithTimestamp(from),
		trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return span
}

func (t *taskSpan) inference(now time.Time, i Inference) {
	if t == nil {
		return
	}
	span := t.child(now, i.QueueMS+i.PrefillMS+i.DecodeMS, "chat "+t.s.model, trace.SpanKindClient,
		semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(providerName), semconv.GenAIRequestModel(t.s.model),
		semconv.GenAIUsageInputTokens(i.PromptTokens), semconv.GenAIUsageOutputTokens(i.OutputTokens()),
		semconv.GenAIUsageCacheReadInputTokens(i.CachedTokens))
	if i.FinishReason != "" {
		span.SetAttributes(semconv.GenAIResponseFinishReasons(i.FinishReason))
	}
	span.End(trace.WithTimestamp(now))
}

func (t *taskSpan) tool(now time.Time, c ToolCall) {
	if t == nil {
		return
	}
	span := t.child(now, c.DurationMS, "execute_tool "+c.Tool, trace.SpanKindInternal,
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(c.Tool), semconv.GenAIToolType("function"))
	if c.ErrorKind != "" {
		span.SetAttributes(semconv.ErrorTypeKey.String(c.ErrorKind))
		span.SetStatus(codes.Error, c.ErrorKind)
	}
	span.End(trace.WithTimestamp(now))
}

func (t *taskSpan) end(now time.Time, status string, total totals) {
	if t == nil {
		return
	}
	t.span.SetAttributes(semconv.GenAIUsageInputTokens(total.PromptTokens), semconv.GenAIUsageOutputTokens(total.OutputTokens),
		attribute.String("llama_agent.task.status", status))
	if status == "failed" {
		t.span.SetAttributes(semconv.ErrorTypeKey.String(status))
		t.span.SetStatus(codes.Error, status)
	}
	t.span.End(trace.WithTimestamp(now))
}

// exporter hides the errors of another one from OpenTelemetry, which would print them: the first is told, the rest is dropped with
// its spans.
type exporter struct {
	sdk.SpanExporter
	endpoint string
	redact   redactor
	log      *slog.Logger
	told     sync.Once
	ctx      context.Context // ends with the exporter, whoever exports
	stop     context.CancelFunc
}

func newExporter(inner sdk.SpanExporter, endpoint string, r redactor, log *slog.Logger) *exporter {
	e := &exporter{SpanExporter: inner, endpoint: endpoint, redact: r, log: log}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil && !errors.Is(e.ctx.Err(), context.Canceled) {
		e.tell(err)
	}
	return nil
}

func (e *exporter) tell(err error) {
	e.told.Do(func() {
		e.log.Warn("spans for OpenTelemetry are lost; check that a collector listens at telemetry.otlp_endpoint, or unset it",
			"endpoint", e.endpoint, "error", e.redact.text(err.Error()))
	})
}

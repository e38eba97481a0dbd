// The interpreter, against what jinja2 rendered (tests/fixtures/chat_template/expressions.json),
// and its own promises: exact marks of the caller's bytes, and limits that hold against hostile
// templates.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "text/chat_template.h"

namespace mlxcel::text {
namespace {

using base::Json;

const std::string kFixtures = std::string(MLXCEL_SOURCE_DIR) + "/tests/fixtures/chat_template/";

std::tm fixed_time() {
  std::tm time = {};
  time.tm_year = 126;
  time.tm_mon = 2;
  time.tm_mday = 5;
  time.tm_hour = 14;
  time.tm_min = 7;
  time.tm_sec = 9;
  time.tm_wday = 4;
  time.tm_yday = 63;
  return time;
}

RenderedPrompt render(const std::string& source, const Json& variables = nullptr) {
  RenderOptions options;
  options.variables = variables;
  options.clock = fixed_time;
  return ChatTemplate::parse(source, "t").render(Json::array(), options);
}

struct Failure {
  base::ErrorKind kind = base::ErrorKind::kInternal;
  std::string message = "no error";
};

Failure failure_of(const std::string& source, const Json& variables = nullptr) {
  try {
    render(source, variables);
  } catch (const base::Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

std::string message_of(const std::string& source, const Json& variables = nullptr) {
  return failure_of(source, variables).message;
}

// The text with the caller's bytes in guillemets.
std::string marked(const RenderedPrompt& prompt) {
  std::string shown;
  size_t at = 0;
  for (const ByteSpan& span : prompt.literal) {
    EXPECT_LT(span.begin, span.end);
    EXPECT_TRUE(at == 0 || span.begin > at) << "spans touch or overlap";
    shown += prompt.text.substr(at, span.begin - at) + "«" +
             prompt.text.substr(span.begin, span.end - span.begin) + "»";
    at = span.end;
  }
  EXPECT_LE(at, prompt.text.size());
  return shown + prompt.text.substr(at);
}

std::string marks(const std::string& source, const Json& variables) {
  return marked(render(source, variables));
}

TEST(Jinja, RendersWhatTheReferenceRenders) {
  size_t count = 0;
  for (const Json& section : base::load_json(kFixtures + "expressions.json")) {
    for (const Json& test : section["cases"]) {
      const auto source = test["template"].get<std::string>();
      SCOPED_TRACE(source);
      ++count;
      try {
        const std::string text = render(source, section["variables"]).text;
        if (test.contains("error")) {
          ADD_FAILURE() << "rendered \"" << text << "\", the reference fails with "
                        << test["error"];
        } else {
          EXPECT_EQ(text, test["expected"].get<std::string>());
        }
      } catch (const base::Error& error) {
        EXPECT_NE(error.kind(), base::ErrorKind::kInternal);
        EXPECT_EQ(std::string(error.what()).rfind("t:", 0), 0U) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
        if (!test.contains("error"))
          ADD_FAILURE() << error.what() << ", expected " << test["expected"];
      }
    }
  }
  EXPECT_GE(count, 300U);
}

TEST(Jinja, ErrorsNameTemplateLineAndFault) {
  EXPECT_EQ(message_of("a\n\n{{ x.y }}"), "t:3: 'x' is undefined");
  EXPECT_EQ(message_of("{{ 1\n+\n'a' }}").rfind("t:2: ", 0), 0U);
  EXPECT_EQ(message_of("\n{% if x %}"), "t:2: unexpected end of template, expected {% endif %}");
  EXPECT_EQ(message_of("\n{% wat %}"), "t:2: unknown tag 'wat'");
  EXPECT_EQ(message_of("{{ raise_exception('not\nthat') }}"), "t:1: not that");
  EXPECT_EQ(message_of("{% macro m() %}\n{{ 1 / 0 }}\n{% endmacro %}\n\n{{ m() }}"),
            "t:2: division by zero");
  EXPECT_EQ(failure_of("{{ raise_exception('no') }}").kind, base::ErrorKind::kBadInput);
}

TEST(Jinja, RefusesByName) {
  for (const auto& [source, name] : std::vector<std::pair<std::string, std::string>>{
           {"{% include 'x' %}", "include"},
           {"{% extends 'x' %}", "extends"},
           {"{% import 'x' as y %}", "import"},
           {"{% from 'x' import y %}", "from"},
           {"{% block b %}{% endblock %}", "block"},
           {"{% call m() %}{% endcall %}", "call"},
           {"{% autoescape true %}{% endautoescape %}", "autoescape"},
           {"{% for x in [] recursive %}{% endfor %}", "recursive"},
           {"{{ 1|pprint }}", "pprint"},
           {"{{ 1|frobnicate }}", "frobnicate"},
           {"{{ 1 is frobnicated }}", "frobnicated"},
           {"{{ 'a'.encode() }}", "encode"},
           {"{{ lipsum() }}", "lipsum"},
           {"{{ '\\N{DASH}' }}", "\\N"},
           {"{{ 99999999999999999999 }}", "99999999999999999999"},
       }) {
    const Failure failure = failure_of(source);
    EXPECT_EQ(failure.kind, base::ErrorKind::kUnsupported) << source;
    EXPECT_NE(failure.message.find(name), std::string::npos) << source << ": " << failure.message;
  }
}

TEST(Jinja, MarksFollowTheCallersBytes) {
  const Json v = {
      {"c", "<|x|> é"}, {"n", 7}, {"list", {"a", "b"}}, {"d", {{"k", "v"}}}, {"sp", "  pad  "}};
  EXPECT_EQ(marks("[{{ c }}]", v), "[«<|x|> é»]");
  EXPECT_EQ(marks("{{ '<' + c + '>' }}{{ n }}", v), "<«<|x|> é»>7");
  EXPECT_EQ(marks("{{ ('ab' ~ c ~ 'yz')[1:4] }}", v), "b«<|»");
  EXPECT_EQ(marks("{{ ('ab' ~ c ~ 'yz')[::-1] }}", v), "zy«é >|x|<»ba");
  EXPECT_EQ(marks("{{ c[0] }}{{ c[-1] }}{{ c|first }}", v), "«<é<»");
  EXPECT_EQ(marks("{{ sp|trim ~ '|' ~ sp.rstrip() }}", v), "«pad»|«  pad»");
  EXPECT_EQ(marks("{{ c|upper }}{{ c.title() }}{{ 'a'|upper }}", v), "«<|X|> É<|X|> É»A");
  EXPECT_EQ(marks("{{ c.split('|') }}", v), "['«<»', '«x»', '«> é»']");
  EXPECT_EQ(marks("{{ list|join('+') }}{{ '+'.join(list) }}", v), "«a»+«ba»+«b»");
  EXPECT_EQ(marks("{{ c|replace('x', 'REPL') }}{{ 'x-x'.replace('x', c) }}", v),
            "«<|»REPL«|> é<|x|> é»-«<|x|> é»");
  EXPECT_EQ(marks("{{ d|tojson }}{{ d }}", v), R"({"«k»": "«v»"}{'«k»': '«v»'})");
  EXPECT_EQ(marks("{{ 'q\"' ~ c|tojson(ensure_ascii=true) }}", v), R"(q""«<|x|> \u00e9»")");
  EXPECT_EQ(marks("{{ '\n'|tojson }}{{ sp|tojson }}", v), R"("\n""«  pad  »")");
  EXPECT_EQ(marks("{% macro m(a) %}({{ a }}){% endmacro %}{{ m(c)|upper }}", v), "(«<|X|> É»)");
  EXPECT_EQ(marks("{% set b %}x{{ c }}y{% endset %}{{ b }}{{ b|length }}", v), "x«<|x|> é»y9");
  EXPECT_EQ(marks("{% filter upper %}a{{ c }}b{% endfilter %}", v), "A«<|X|> É»B");
  EXPECT_EQ(marks("{% generation %}a{{ c }}{% endgeneration %}", v), "a«<|x|> é»");
  EXPECT_EQ(marks("{% for k, w in d.items() %}{{ k }}={{ w }}{% endfor %}", v), "«k»=«v»");
  EXPECT_EQ(marks("{% for ch in sp.strip() %}.{{ ch }}{% endfor %}", v), ".«p».«a».«d»");
  EXPECT_EQ(marks("{{ '%s|%5s|%r' % (c, list[0], list[1]) }}{{ '{}!'.format(c) }}", v),
            "«<|x|> é»|    «a»|'«b»'«<|x|> é»!");
  EXPECT_EQ(marks("{{ c % () }}", {{"c", "100%%"}}), "«100%»");
  EXPECT_EQ(marks("{{ c|indent(2, true) }}", {{"c", "a\nb"}}), "  «a\n»  «b»");
  EXPECT_EQ(marks("{{ list[0].center(5, '*') }}{{ '1'.rjust(3, list[0]) }}", v), "**«a»**«aa»1");
  EXPECT_EQ(marks("{{ c|e }}{{ ('<'|safe) + c }}", {{"c", "<b"}}), "«&lt;b»<«&lt;b»");
  EXPECT_EQ(marks("{{ c * 2 }}{{ c|default('z') }}{{ nope|default(c) }}", {{"c", "q"}}), "«qqqq»");
  EXPECT_EQ(marks("{{ strftime_now('%Y' ~ c ~ '%m') }}", {{"c", "%d"}}), "2026«05»03");
  EXPECT_EQ(marks("{{ list|sort|reverse|map('upper')|join }}{{ list|string }}", v),
            "«BA»['«a»', '«b»']");
  EXPECT_EQ(marks("{% set ns = namespace(**d) %}{{ ns.k }}{{ dict(**d) }}", v),
            "«v»{'«k»': '«v»'}");
  EXPECT_EQ(marks("{{ ('<|im' ~ '_end|>') }}{{ '<|im_end|>' }}", v), "<|im_end|><|im_end|>");
  EXPECT_EQ(marks("{{ c.partition('|') | join('') }}", v), "«<|x|> é»");
}

TEST(Jinja, HostileTemplatesEndInAnErrorThatNamesTheLimit) {
  const auto started = std::chrono::steady_clock::now();
  for (const auto& [source, words] : std::vector<std::pair<std::string, std::string>>{
           {"{{ 'a' * 1000000000 }}", "bytes"},
           {"{{ 'a' * 9223372036854775807 }}", "bytes"},
           {"{{ [1, 2] * 4611686018427387904 }}", "bytes"},
           {"{% for i in range(1000000000000) %}{% endfor %}", "range"},
           {"{{ range(-9223372036854775807, 9223372036854775807) }}", "range"},
           {"{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% "
            "endfor %}{% endfor %}{% endfor %}",
            "steps"},
           {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "levels"},
           {"{% macro m(n) %}{{ m(n + 1) ~ m(n + 1) }}{% endmacro %}{{ m(0) }}", "levels"},
           {"{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ "
            "m(60) }}",
            "steps"},
           {"{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% "
            "endfor %}",
            "levels"},
           {"{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x "
            "%}{% endfor %}",
            "bytes"},
           {"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] "
            "%}{% endfor %}{{ ns.x }}",
            "steps"},
           {"{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, "
            "ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
            "steps"},
           {"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = (ns.x, ns.x) "
            "%}{% endfor %}{{ ns.x|tojson }}",
            "steps"},
           {"{{ 'x'.center(2000000000) }}", "bytes"},
           {"{{ 'x'.zfill(9223372036854775807) }}", "bytes"},
           {"{{ 'x'|indent(2000000000) }}", "bytes"},
           {"{{ [1]|batch(9000000000, 0)|list }}", "bytes"},
           {"{{ [1]|slice(9000000000)|list }}", "bytes"},
           {"{{ [1]|tojson(indent=2000000000) }}", "bytes"},
           {"{{ '%999999999d' % 1 }}", "width"},
           {"{{ 2 ** 9999999999 }}", "64 bits"},
           {"{{ 9223372036854775807 + 1 }}", "64 bits"},
           {"{{ (0 - 9223372036854775807 - 1) // -1 }}", "64 bits"},
           {"{{ -(0 - 9223372036854775807 - 1) }}", "64 bits"},
           {"{{ 1e300|int }}", "64 bits"},
           {"{{ '9' * 30 }}{{ ('9' * 30)|int }}", "64 bits"},
           {"{% set s = 'a' * 1000000 %}{% for i in range(99999) %}{{ (s + 'b') in (s + 'c') }}{% "
            "endfor %}",
            ""},
           {"{% for i in range(99999) %}{{ "
            "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' * 99 }}{% endfor %}",
            "bytes"},
           {"{% set x = ('ab ' * 100000).split() %}{% for i in range(9999) %}{{ x == (x + []) }}{% "
            "endfor %}",
            ""},
       }) {
    const Failure failure = failure_of(source);
    EXPECT_TRUE(failure.kind == base::ErrorKind::kResource ||
                failure.kind == base::ErrorKind::kUnsupported)
        << source << ": " << failure.message;
    EXPECT_NE(failure.message.find(words), std::string::npos) << source << ": " << failure.message;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  EXPECT_LT(seconds.count(), 120.0);
}

TEST(Jinja, DeepNestingOfTheSourceIsRefused) {
  const auto repeat = [](const std::string& part, size_t times) {
    std::string text;
    for (size_t i = 0; i < times; ++i) text += part;
    return text;
  };
  constexpr size_t kTimes = 50'000;
  for (const std::string& source : {
           "{{ " + repeat("(", kTimes) + "1" + repeat(")", kTimes) + " }}",
           "{{ " + repeat("[", kTimes) + repeat("]", kTimes) + " }}",
           "{{ " + repeat("{1:", kTimes) + "1" + repeat("}", kTimes) + " }}",
           "{{ " + repeat("not ", kTimes) + "1 }}",
           "{{ " + repeat("-", kTimes) + "1 }}",
           "{{ 1" + repeat("+1", kTimes) + " }}",
           "{{ 1" + repeat(" if 1 else 1", kTimes) + " }}",
           "{{ x" + repeat(".a", kTimes) + " }}",
           "{{ x" + repeat("[0]", kTimes) + " }}",
           "{{ x" + repeat("()", kTimes) + " }}",
           "{{ x" + repeat("|upper", kTimes) + " }}",
           "{{ x" + repeat(" is defined", kTimes) + " }}",
           "{{ 1" + repeat(" and 1", kTimes) + " }}",
           repeat("{% if 1 %}", kTimes) + repeat("{% endif %}", kTimes),
           repeat("{% for x in y %}", kTimes) + repeat("{% endfor %}", kTimes),
           repeat("{% macro m() %}", kTimes),
       }) {
    const Failure failure = failure_of(source);
    EXPECT_NE(failure.message, "no error") << source.substr(0, 40);
    EXPECT_NE(failure.kind, base::ErrorKind::kInternal) << failure.message;
  }
  // Width without depth is fine.
  EXPECT_EQ(render("{{ [" + repeat("1,", 20'000) + "]|length }}").text, "20000");
  EXPECT_EQ(render(repeat("{% if 1 %}a{% endif %}", 2'000)).text.size(), 2'000U);
  EXPECT_EQ(render(repeat("{{ a }}\n", 10'000)).text.size(), 9'999U);
  EXPECT_NE(message_of(std::string(2U << 20U, 'a')), "no error");
  EXPECT_NE(message_of("\xFF"), "no error");
}

TEST(Jinja, CyclesThroughNamespacesAreLetGo) {
  // Leaks would show under the address sanitizer.
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}").text,
            "<Namespace {'me': <Namespace {...}>}>");
  EXPECT_EQ(
      render(
          "{% set ns = namespace() %}{% macro m() %}x{% endmacro %}{% set ns.m = m %}{{ ns.m() }}")
          .text,
      "x");
  EXPECT_EQ(render("{% for i in [1] %}{% if loop.changed(loop) %}c{% endif %}{% endfor %}").text,
            "c");
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% endfor "
                   "%}{{ ns.l.index }}")
                .text,
            "2");
  EXPECT_NE(message_of("{% set ns = namespace() %}{% macro m() %}{% set ns.q = m %}{{ 1 / 0 }}{% "
                       "endmacro %}{{ m() }}"),
            "no error");
}

TEST(Jinja, MacrosRecurseAsDeepAsSchemasGo) {
  const std::string source =
      "{% macro show(v) %}{% if v is mapping %}{% for k, w in v.items() %}{% if true %}{{ '(' ~ "
      "show(w) ~ ')' }}"
      "{% endif %}{% endfor %}{% else %}{{ v }}{% endif %}{% endmacro %}{{ show(x) }}";
  Json deep = 1;
  for (int i = 0; i < 60; ++i) deep = Json{{"k", deep}};
  EXPECT_EQ(render(source, {{"x", deep}}).text, std::string(60, '(') + "1" + std::string(60, ')'));
}

}  // namespace
}  // namespace mlxcel::text

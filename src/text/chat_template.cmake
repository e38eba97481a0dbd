# Chat templates: a Jinja interpreter of our own, and what transformers puts around it.
mlxcel_library(NAME chat_template
  SOURCES chat_template.cpp jinja_access.cpp jinja_call.cpp jinja_eval.cpp jinja_exec.cpp
          jinja_expressions.cpp jinja_filters.cpp jinja_filters_sequence.cpp jinja_format.cpp
          jinja_globals.cpp jinja_json.cpp jinja_lexer.cpp jinja_loop.cpp jinja_methods.cpp
          jinja_operators.cpp jinja_parser.cpp jinja_predicates.cpp jinja_printf.cpp jinja_scope.cpp
          jinja_select.cpp jinja_strings.cpp jinja_text.cpp jinja_unicode.cpp jinja_value.cpp
  DEPS mlxcel_base
  PRIVATE_DEPS dep_utf8proc)
mlxcel_test(NAME chat_template SOURCES chat_template_test.cpp jinja_test.cpp DEPS mlxcel_chat_template)
mlxcel_fuzz(NAME jinja SOURCES jinja_fuzz.cpp DEPS mlxcel_chat_template)

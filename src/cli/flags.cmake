# The command line as data, with its parser, help, completions and manual page. No MLX in it.
mlxcel_library(NAME cli_flags
  SOURCES command_line.cpp completion.cpp completion_bash.cpp completion_fish.cpp completion_zsh.cpp
          flag.cpp flag_table.cpp help_text.cpp man_page.cpp shared_flags.cpp verbs.cpp
  DEPS mlxcel_base)
mlxcel_test(NAME cli_flags
  SOURCES command_line_test.cpp completion_test.cpp flag_test.cpp flag_table_test.cpp
          help_text_test.cpp man_page_test.cpp verbs_test.cpp
  DEPS mlxcel_cli_flags)

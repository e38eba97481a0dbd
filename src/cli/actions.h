// What each verb does. An action returns the exit code; errors are thrown.
#pragma once

#include "cli/flag_table.h"
#include "cli/progress.h"
#include "engine/session.h"

namespace mlxcel::cli {

int run_generate(const FlagValues& flags);
int run_dump(const FlagValues& flags);
int run_chat(const FlagValues& flags);
int run_inspect(const FlagValues& flags);
int run_list(const FlagValues& flags);

// One line on stderr with what each part of an answer took.
void print_timings(double load_ms, double preprocess_ms, const engine::Timings& timings);

// Text to stdout as it comes, prefill progress on a terminal, Ctrl-C to stop.
engine::Callbacks terminal_callbacks(ProgressLine& progress, bool stream_text);

}  // namespace mlxcel::cli

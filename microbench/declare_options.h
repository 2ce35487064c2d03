#pragma once

#include <CLI/CLI.hpp>

#include "db/console/options.h"
#include "microbench/benchmarks.h"

namespace microbench {

/// In a header, so that benchmarks are compiled without CLI11.
inline void declare_options(CLI::App& app, const Benchmark& benchmark) {
  for (const BenchmarkOption& option : benchmark.options) {
    if (const auto* text = std::get_if<std::string*>(&option.value)) {
      app.add_option(option.name, **text, option.help)->capture_default_str();
    } else if (const auto* number = std::get_if<NumberWithin>(&option.value)) {
      app.add_option(option.name, *number->value, option.help)
          ->capture_default_str()
          ->check(db::options::whole_number(number->least, number->most));
    } else {
      app.add_option(option.name, *std::get<std::vector<std::string>*>(option.value), option.help)
          ->delimiter(',');
    }
  }
}

}  // namespace microbench

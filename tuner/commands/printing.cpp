#include "tuner/commands/printing.h"

#include <iostream>

namespace tuner {

db::Style style_of(const Arguments& arguments) {
  return {*db::parse_format(arguments.format), db::use_color(arguments.color, stdout)};
}

void warn(const std::string& text) { std::cerr << "moe-tune: " << text << '\n'; }

}  // namespace tuner

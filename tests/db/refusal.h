#pragma once

#include <gtest/gtest.h>

#include <string>

#include "db/error.h"

namespace db {

/// With what `import` refuses its file as invalid; "not refused".
template <class Import>
std::string refusal_of(Import import) {
  try {
    import();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::invalid);
    return error.what();
  }
  return "not refused";
}

}  // namespace db

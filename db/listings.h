#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/connection.h"
#include "db/console/format_rows.h"

namespace db {

/// `--option VALUE` keeps the rows whose `column` is VALUE.
struct ListingFilter {
  const char* option;
  const char* column;
  const char* description;
};

/// Columns that a table has only where a row's `shown_by` is not NULL.
struct RareColumns {
  const char* shown_by;
  const char* columns;
};

/// One listing of moe-db: a stable view, the columns that fit a terminal, an order, filters. CSV
/// and JSON have every column of the view.
struct Listing {
  const char* command = "";
  const char* description = "";
  const char* example = "";  ///< an example, without `moe-db` before it
  const char* view;
  const char* table_columns;
  const char* order;
  std::vector<ListingFilter> filters;
  const char* notes = "";  ///< the meaning of columns whose names do not tell it
  std::vector<RareColumns> rare = {};
};

const std::vector<Listing>& all_listings();

/// Writes a listing; `values` are by option, limit 0 is none. Returns the rows written. Throws
/// Error.
std::int64_t write_listing(std::FILE* file, const Style& style, const Connection& connection,
                           const Listing& listing, const std::map<std::string, std::string>& values,
                           std::int64_t limit);

}  // namespace db

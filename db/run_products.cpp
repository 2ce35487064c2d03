#include "db/run_products.h"

#include <fmt/core.h>

#include <set>

#include "db/columns.h"
#include "db/insert_sql.h"
#include "db/load.h"
#include "db/statement.h"
#include "db/transaction.h"

namespace db {

void insert(Connection& connection, std::span<const RunProduct> products) {
  if (products.empty()) return;
  Transaction transaction(connection, fmt::format("store {} products", products.size()));
  Statement statement(connection, insert_sql<RunProduct>());
  for (const RunProduct& product : products) statement.bind_record(product).run();
  transaction.commit();
}

std::vector<RunProduct> load_run_products(const Connection& connection, std::int64_t run_id) {
  return select<RunProduct>(connection, "WHERE run_id = ? ORDER BY library, product", run_id);
}

std::vector<RunProduct> load_products_of(const Connection& connection, const std::string& library) {
  std::vector<RunProduct> first;
  std::set<std::string> seen;
  for (RunProduct& one :
       select<RunProduct>(connection, "WHERE library = ? ORDER BY run_id, product", library)) {
    if (seen.insert(one.product).second) first.push_back(std::move(one));
  }
  return first;
}

}  // namespace db

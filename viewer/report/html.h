#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/report/pictures.h"
#include "viewer/report/tables.h"

/// What the pages of reports are made of.
namespace viewer {

/// `text` with the characters that mean something in HTML written as entities.
std::string html_escaped(std::string_view text);

/// The bytes as base64 (RFC 4648), as data URLs have them.
std::string base64(std::string_view bytes);

/// A figure that a reader looks for first, among others in a <dl class="figures">. `warns`: it says
/// less than it seems to.
std::string figure_card(const std::string& value, const std::string& name, bool warns = false);

struct HtmlRow {
  std::vector<std::string> cells;
  bool is_best = false;
};
/// A cell says its column too: on a phone a row is a block, without a head above it.
std::string html_table(std::span<const char* const> columns, const std::vector<HtmlRow>& rows);

/// The picture, which the page holds, with its caption and a link to its file.
std::string html_figure(const Picture& picture);

/// A heading, and a link to each table.
std::string table_links(const std::vector<CsvTable>& tables);

/// The page. It holds its style, so it opens without a network, and it suits a wide screen, a phone
/// and paper.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace viewer

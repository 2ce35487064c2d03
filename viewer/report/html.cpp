#include "viewer/report/html.h"

#include <fmt/format.h>

#include "viewer/report/style.h"

namespace viewer {

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto byte = i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
      group = group << 8 | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::string figure_card(const std::string& value, const std::string& name, bool warns) {
  return fmt::format("<div{}><dd>{}</dd><dt>{}</dt></div>\n", warns ? " class=\"warns\"" : "",
                     html_escaped(value), html_escaped(name));
}

std::string html_table(std::span<const char* const> columns, const std::vector<HtmlRow>& rows) {
  std::string head, body;
  for (const char* name : columns) head += fmt::format("<th>{}</th>", name);
  for (const HtmlRow& row : rows) {
    body += fmt::format("<tr{}>", row.is_best ? " class=\"best\"" : "");
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string name = i == 0 ? "" : fmt::format(" data-name=\"{}\"", columns[i]);
      body += fmt::format("<td{}>{}</td>", name, html_escaped(row.cells[i]));
    }
    body += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr>{}</tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n",
      head, body);
}

std::string html_figure(const Picture& picture) {
  return fmt::format(
      "<figure><img src=\"data:image/png;base64,{}\" width=\"{}\" "
      "height=\"{}\" alt=\"{}\"><figcaption>{} <a href=\"{}\">{}</a></figcaption>"
      "</figure>\n",
      base64(picture.png), picture.width, picture.height, html_escaped(picture.caption),
      html_escaped(picture.caption), picture.file, picture.file);
}

std::string table_links(const std::vector<CsvTable>& tables) {
  std::string items;
  for (const CsvTable& table : tables) {
    items += fmt::format("<li><a href=\"{0}\">{0}</a>: {1}</li>\n", table.file,
                         html_escaped(table.about));
  }
  return fmt::format("<h2>Tables</h2>\n<ul>\n{}</ul>\n", items);
}

std::string html_page(const std::string& title, const std::string& body) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += fmt::format("<title>{}</title>\n<style>", html_escaped(title));
  page += kReportStyle;
  return page + "</style>\n</head>\n<body>\n<main>\n" + body + "</main>\n</body>\n</html>\n";
}

}  // namespace viewer

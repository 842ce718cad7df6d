// Queries in SQL: read, checked against the views of a script, and made nodes of its graph.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/daphne/check.h"

namespace weld::daphne {

/// An expression of a query.
struct SqlExpr {
    enum Kind : std::uint8_t { Integer, Number, Text, Column, Aggregate, Binary, Between };
    Kind kind = Integer;
    std::size_t at = 0;  ///< the character at which it begins
    std::string source;  ///< its words, without blanks
    std::string
        text;  ///< of Text; of Column the name after the dot; of Aggregate the function, in upper case
    std::string table;  ///< of Column, if it is written
    std::int64_t integer = 0;
    double number = 0;
    Operator op = Operator::Add;
    std::vector<std::unique_ptr<SqlExpr>> args;  ///< none for COUNT(*)
};
using SqlExprs = std::vector<std::unique_ptr<SqlExpr>>;

struct SqlItem {
    std::unique_ptr<SqlExpr> value;  ///< null: all columns, of `table` if there is one
    std::string alias, table;
    std::size_t at = 0;
};

struct SqlSource {
    std::string view, alias;
    SqlExprs on;  ///< comparisons that all hold
    std::size_t at = 0;
};

struct SqlOrder {
    std::unique_ptr<SqlExpr> column;
    bool ascending = true;
};

struct SqlQuery {
    bool distinct = false;
    std::vector<SqlItem> items;
    std::vector<SqlSource> sources;
    SqlExprs where;  ///< conditions that all hold
    SqlExprs group_by;
    std::unique_ptr<SqlExpr> having;
    std::vector<SqlOrder> order_by;
};

/// What is wrong with a query, at a character of it.
struct SqlError {
    std::string message;
    std::size_t at = 0;
};

/// False with what is wrong.
bool parse_sql(std::string_view text, SqlQuery* query, SqlError* error);

/// The frame that the query gives; null after an error, which is reported at `loc`.
Value* sql_result(Checker& checker, std::string_view text, Loc loc);

}  // namespace weld::daphne

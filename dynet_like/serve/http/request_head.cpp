// Heads of requests: lines, versions, the target, and the fields that say where the body ends.
#include "dynet_like/serve/http/request_head.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <string>
#include <utility>

namespace dynet_like::serve {

namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kVersion = " HTTP/";  // followed by a digit, a point and a digit

Answer bad_request(const std::string& what) { return {400, "bad request: " + what + "\n"}; }

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The version, such as "1.1", of a line without its end; empty if it has none.
std::string_view version_of(std::string_view line) {
  const std::size_t size = kVersion.size() + 3;
  if (line.size() < size) return {};
  const std::string_view end = line.substr(line.size() - size);
  const std::string_view version = end.substr(kVersion.size());
  const bool is_version = end.starts_with(kVersion) && is_digit(version[0]) && version[1] == '.' &&
                          is_digit(version[2]);
  return is_version ? version : std::string_view();
}

std::string_view first_line(std::string_view bytes) { return bytes.substr(0, bytes.find("\r\n")); }

// RFC 9112, sections 2.3 and 3. A line without a version would be HTTP/0.9.
std::optional<Answer> refusal_of_line(std::string_view line) {
  const std::string_view version = version_of(line);
  if (version.empty()) return bad_request("need a line METHOD TARGET HTTP/1.1");
  if (version[0] != '1') return Answer{505, "need HTTP/1.1\n"};
  return std::nullopt;
}

// RFC 3986, section 3.2: a name or address, and a port.
bool is_host(std::string_view host) {
  const std::string_view others = "-._~%!$&'()*+,;=:[]";
  return std::all_of(host.begin(), host.end(), [&](char c) {
    return is_letter_or_digit(c) || others.find(c) != others.npos;
  });
}

// RFC 9112, section 3.2: a request of HTTP/1.1 has exactly one Host.
std::optional<Answer> refusal_of_host(const RequestFields& fields) {
  const std::size_t hosts = fields.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && fields.version() > 10)) {
    return bad_request("need one Host; got " + std::to_string(hosts));
  }
  if (!is_host(view(fields[http::field::host]))) {
    return bad_request("need a Host of a name and a port");
  }
  return std::nullopt;
}

std::size_t end_of_scheme(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view begin = target.substr(0, scheme.size());
    if (beast::iequals({begin.data(), begin.size()}, {scheme.data(), scheme.size()})) {
      return scheme.size();
    }
  }
  return 0;
}

// RFC 9112, section 3.2. The target of CONNECT, a host and a port, is refused with its method.
std::optional<Answer> refusal_of_target(const RequestFields& fields) {
  const std::string_view target = view(fields.target());
  const auto is_forbidden = [](char c) { return c <= ' ' || c > '~' || c == '#'; };
  if (std::any_of(target.begin(), target.end(), is_forbidden)) {
    return bad_request("need a target of ASCII without #");
  }
  if (target[0] == '/' || fields.method() == http::verb::connect) return std::nullopt;
  if (target == "*" && fields.method() == http::verb::options) return std::nullopt;
  if (const std::size_t begin = end_of_scheme(target); begin > 0) {
    const std::string_view host = target.substr(begin, target.find_first_of("/?", begin) - begin);
    if (!host.empty() && is_host(host)) return std::nullopt;
  }
  return bad_request("need a target that is a path or a URL of http");
}

beast::string_view last_of_list(beast::string_view list) {
  const std::size_t comma = list.rfind(',');
  const beast::string_view last = list.substr(comma == list.npos ? 0 : comma + 1);
  return last.substr(std::min(last.find_first_not_of(" \t"), last.size()));
}

// RFC 9112, sections 6.1 and 6.3. If a proxy and this server disagreed about the end of a body,
// only one of them would take the rest for a request.
std::optional<Answer> refusal_of_framing(const RequestFields& fields) {
  const std::size_t codings = fields.count(http::field::transfer_encoding);
  if (codings == 0) return std::nullopt;
  if (codings > 1 || fields.count(http::field::content_length) > 0 || fields.version() < 11) {
    return bad_request("need one Transfer-Encoding, without Content-Length, of HTTP/1.1");
  }
  const beast::string_view coding = fields[http::field::transfer_encoding];
  if (beast::iequals(coding, "chunked")) return std::nullopt;
  const std::string what = "need Transfer-Encoding: chunked, or none";
  const bool ends = beast::iequals(last_of_list(coding), "chunked");
  return ends ? Answer{501, what + "\n"} : bad_request(what);
}

}  // namespace

FoundHead find_head(std::string_view bytes) {
  if (bytes.empty() || bytes == "\r") return {};
  const std::string_view separators = "!#$%&'*+-.^_`|~";  // allowed in methods, besides letters and
                                                          // digits
  if (!is_letter_or_digit(bytes[0]) && separators.find(bytes[0]) == separators.npos) {
    return {0, bad_request("need a line METHOD TARGET HTTP/1.1")};
  }
  const std::string_view line = first_line(bytes.substr(0, kHeadBytes));
  const bool has_line = line.size() < std::min(bytes.size(), kHeadBytes);
  if (!has_line && bytes.size() >= kHeadBytes) return {0, Answer{414, "too long a target\n"}};
  if (!has_line) return {};
  if (auto refusal = refusal_of_line(line)) return {0, std::move(refusal)};
  const std::size_t end = bytes.substr(0, kHeadBytes).find(kEnd);
  if (end == bytes.npos) {
    if (bytes.size() < kHeadBytes) return {};
    return {0, Answer{431, "too large a head\n"}};
  }
  const std::string_view head = bytes.substr(0, end + kEnd.size());
  if (head.find("\r\n ") != head.npos || head.find("\r\n\t") != head.npos) {
    return {0, bad_request("need fields of one line")};
  }
  return {head.size(), std::nullopt};
}

std::optional<Answer> refusal_of_fields(const RequestFields& fields) {
  for (const auto check : {refusal_of_framing, refusal_of_host, refusal_of_target}) {
    if (auto refusal = check(fields)) return refusal;
  }
  return std::nullopt;
}

std::string_view path_of(std::string_view target) {
  if (const std::size_t begin = end_of_scheme(target); begin > 0) {
    const std::size_t path = std::min(target.find_first_of("/?", begin), target.size());
    target = target.substr(path);
  }
  const std::string_view path = target.substr(0, target.find('?'));
  return path.empty() ? "/" : path;
}

}  // namespace dynet_like::serve

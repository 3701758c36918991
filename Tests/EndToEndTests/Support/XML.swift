/// The elements of an XML document, in order.
enum XML {
  struct Element {
    var name: String
    var attributes: [String: String]
  }

  struct Malformed: Error {
    var place: Substring
  }

  /// Accepts only the XML that JUnit reports need: elements closed in order, attributes in double quotes, the
  /// five predefined entities, and characters that XML 1.0 allows.
  static func parse(_ text: String) throws -> [Element] {
    var rest = text[...]
    var open: [Substring] = []
    var elements: [Element] = []
    guard let head = rest.prefixMatch(of: /<\?xml version="1.0" encoding="UTF-8"\?>\n/) else {
      throw Malformed(place: rest.prefix(80))
    }
    rest.removeSubrange(head.range)
    while !rest.isEmpty {
      if let match = rest.prefixMatch(of: /<([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>/) {
        var attributes: [String: String] = [:]
        for attribute in match.output.2.matches(of: /([a-z]+)="([^"<]*)"/) {
          guard
            attributes.updateValue(try decoded(attribute.output.2), forKey: String(attribute.output.1)) == nil
          else { throw Malformed(place: match.output.0) }
        }
        elements.append(Element(name: String(match.output.1), attributes: attributes))
        if match.output.3.isEmpty { open.append(match.output.1) }
        rest.removeSubrange(match.range)
      } else if let match = rest.prefixMatch(of: /<\/([a-z]+)>/) {
        guard open.popLast() == match.output.1 else { throw Malformed(place: rest.prefix(80)) }
        rest.removeSubrange(match.range)
      } else if let match = rest.prefixMatch(of: /[^<]+/) {
        _ = try decoded(match.output)
        rest.removeSubrange(match.range)
      } else {
        throw Malformed(place: rest.prefix(80))
      }
    }
    guard open.isEmpty else { throw Malformed(place: "the end") }
    return elements
  }

  private static func decoded(_ text: Substring) throws -> String {
    let isWhole = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && !(0xFFFE...0xFFFF).contains($0.value) || $0 == "\n" || $0 == "\t"
    }
    guard isWhole, !text.contains("]]>") else { throw Malformed(place: text) }
    return try text.split(separator: "&", omittingEmptySubsequences: false).enumerated().map { index, part in
      if index == 0 { return String(part) }
      for (name, letter) in [("amp;", "&"), ("lt;", "<"), ("gt;", ">"), ("quot;", "\"")]
      where part.hasPrefix(name) {
        return letter + part.dropFirst(name.count)
      }
      throw Malformed(place: part)
    }.joined()
  }
}

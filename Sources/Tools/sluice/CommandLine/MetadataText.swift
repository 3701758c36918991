import JSONText
import Pipeline

/// Metadata as stored in the ledger, a JSON object, parsed.
enum MetadataText {
  /// The members with their types.
  static func data(_ json: String) throws -> [Metadatum] {
    try JSONParser().members(json).map { member in
      let value: MetadataValue =
        switch member.kind {
        case .integer: .integer(member.integer)
        case .real: .number(Double(member.text) ?? 0)
        case .true, .false: .boolean(member.kind == .true)
        default: .text(member.text)
        }
      return Metadatum(key: member.key, value: value)
    }
  }

  /// The members as texts, in their order.
  static func members(_ json: String) throws -> [(key: String, value: String)] {
    try JSONParser().members(json).map { member in
      switch member.kind {
      case .true, .false: (member.key, member.kind.rawValue)
      default: (member.key, member.text)
      }
    }
  }
}

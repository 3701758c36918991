// Compares what was offered and what was told with the ledger.
extension Check {
  func checkAccepted(_ ledger: Ledger) {
    var rows: [String: [Ledger.Attachment]] = [:]
    for attachment in ledger.attachments { rows[attachment.source, default: []].append(attachment) }
    // A source may be offered again; the later offer counts.
    var offers: [String: Set<String>] = [:]
    for offer in told["offer"] ?? [] {
      offers[offer["source"] as? String ?? ""] = Set(offer["statuses"] as? [String] ?? [])
    }
    for (source, statuses) in offers.sorted(by: { $0.key < $1.key }) {
      let here = rows[source] ?? []
      if here.isEmpty { found(.lost, source, "it was accepted, and has no attachment") }
      if here.count > 1 {
        found(.doubled, source, "it is \(here.count) attachments: \(here.map(\.id).joined(separator: ", "))")
      }
      for attachment in here where attachment.hasEnded && !statuses.contains(attachment.status) {
        let reason = attachment.reasonCode.map { " (\($0))" } ?? ""
        found(
          .stateOther, attachment.name,
          "\(source) is \(attachment.status)\(reason), and may be \(statuses.sorted().joined(separator: " or "))"
        )
      }
    }
    if !offers.isEmpty {
      for attachment in ledger.attachments where attachment.parent == nil && offers[attachment.source] == nil
      {
        found(.uninvited, attachment.name, "nobody handed in \(attachment.source)")
      }
    }
    checkTold(ledger)
    checkSummaries()
  }

  private func checkTold(_ ledger: Ledger) {
    let rows = Dictionary(ledger.attachments.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var states: [String: String] = [:]
    for record in told["attachment"] ?? [] {
      let id = record["id"] as? String ?? ""
      let status = record["status"] as? String ?? ""
      if let earlier = states.updateValue(status, forKey: id), earlier != status {
        found(.stateSecond, "attachment \(id)", "it was told to be \(earlier), and then \(status)")
      }
      guard let row = rows[id] else {
        found(.lost, "attachment \(id)", "it was told to be \(status), and the ledger does not know it")
        continue
      }
      if row.status != status {
        found(.stateOther, row.name, "it was told to be \(status), and is \(row.status)")
      }
      let url = record["url"] as? String
      let sha256 = record["sha256"] as? String
      let size = (record["sizeBytes"] as? Int).map(Int64.init)
      if url != row.url || sha256 != row.sha256 || size != row.size {
        found(
          .placeOther, row.name,
          "told: \(Self.text(url, sha256, size)); on record: \(Self.text(row.url, row.sha256, row.size))")
      }
    }
  }

  private static func text(_ url: String?, _ sha256: String?, _ size: Int64?) -> String {
    "\(url ?? "no place") with hash \(sha256 ?? "none") and \(size.map(String.init) ?? "no") bytes"
  }

  /// Checks the summary of each run that ended.
  private func checkSummaries() {
    var counts: [String: Int] = [:]
    for entry in entries {
      if entry["saw"] as? String == "run" { counts = [:] }
      guard let record = entry["record"] as? [String: Any] else { continue }
      switch record["record"] as? String {
      case "attachment": counts[record["status"] as? String ?? "", default: 0] += 1
      case "summary":
        let total = counts.values.reduce(0, +)
        for (name, real) in [("total", total)] + Self.endStates.map({ ($0, counts[$0] ?? 0) })
        where record[name] as? Int != real {
          found(.summaryWrong, "summary", "\(name) is \(record[name] ?? "missing"), and \(real) were told")
        }
      default: break
      }
    }
  }

  private static let endStates = ["completed", "rejected", "failed", "quarantined"]
}

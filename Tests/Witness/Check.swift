import Foundation

/// Compares a home with itself and with the recorded observations. Its coordinator must have ended.
final class Check {
  struct Options {
    var home: String
    var journal: String?
    /// Whether no work may be left.
    var isDrained = false
    /// The recipients who are told of each attachment; `nil`: not checked.
    var recipients: Set<String>?
    /// Files of events, by channel.
    var events: [String: String] = [:]
    /// Channels whose calls are in the journal.
    var calls: Set<String> = []
    /// What the pipeline allows of contents in contents; `nil`: not checked.
    var depth, contents, bytes: Int64?
  }

  let options: Options
  private(set) var findings: [Finding] = []
  /// The journal's observations, by kind.
  private(set) var seen: [String: [[String: Any]]] = [:]
  /// The records that were told, by kind; and all entries in the order of the journal.
  private(set) var told: [String: [[String: Any]]] = [:]
  private(set) var entries: [[String: Any]] = []
  private(set) var attachments = 0

  init(_ options: Options) throws {
    self.options = options
    guard let path = options.journal else { return }
    entries = try Journal.read(path)
    for entry in entries {
      seen[entry["saw"] as? String ?? "", default: []].append(entry)
      if let record = entry["record"] as? [String: Any] {
        told[record["record"] as? String ?? "", default: []].append(record)
      }
    }
  }

  func run() throws {
    var ledger: Ledger
    do {
      ledger = try Ledger(options.home + "/sluice.db")
      try checkIntegrity(ledger)
      try ledger.readAll()
    } catch {
      return found(.ledgerUnreadable, "sluice.db", "\(error)")
    }
    attachments = ledger.attachments.count
    try checkRows(ledger)
    checkAccepted(ledger)
    checkStates(ledger)
    checkLeases(ledger)
    let store = try Store(options.home + "/store")
    checkObjects(ledger, store)
    checkDerived(ledger, store)
    checkTrees(ledger)
    try checkContents(ledger)
    checkDeliveries(ledger)
    for (channel, file) in options.events.sorted(by: { $0.key < $1.key }) {
      try checkFile(ledger, channel, file)
    }
    for channel in options.calls.sorted() { checkCalls(ledger, channel) }
  }

  func found(_ rule: Rule, _ place: String, _ reason: String) {
    findings.append(Finding(rule: rule, place: place, reason: reason))
  }
}

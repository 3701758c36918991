import LedgerPort
import Pipeline

/// What the source does with a link.
enum LinkAct: Equatable {
  case fetch
  /// Each time.
  case fail, reject
  /// What comes is not what was announced.
  case wrong
  /// The first time; then it fetches.
  case retryOnce, stallOnce, hangOnce, wrongOnce
  /// Likewise. The status page names the transfer, or does not.
  case crashOnce(isNamed: Bool)
}

// Links: some scenarios have them, and there half of the items. Equal contents have the same link.
extension Scenario {
  static func hasLinks(_ chance: Chance) -> Bool { chance.oneIn(3, "links") }

  func isLink(_ item: Item) -> Bool {
    pipeline.downloads != nil && chance.oneIn(2, "item \(item.number)", "link")
  }

  /// What a user has fetched is no other's: each has an own link.
  func url(of item: Item) -> String {
    "https://host-\(item.content % 3).example/\(user(of: item) ?? "all")/\(content(of: item))"
  }

  /// The user whose link it is; `nil`: it is a service's.
  func user(of item: Item) -> String? {
    guard chance.oneIn(2, "users") else { return nil }
    return ["ann", "ben", nil][chance.integer(0...2, "item \(item.number)", "user")]
  }

  /// The content of a link.
  static func content(of url: String) -> String { url.split(separator: "/").last.map(String.init) ?? "" }

  /// Whether the SHA-256 of what a link has is announced.
  func isAnnounced(_ content: String) -> Bool {
    if case .wrong = linkAct(content) { return true }
    return linkAct(content) == .wrongOnce || chance.oneIn(4, content, "announced")
  }

  func linkAct(_ content: String) -> LinkAct {
    switch chance.integer(0...29, content, "link act") {
    case 0: .fail
    case 1: .reject
    case 2: .wrong
    case 3: .wrongOnce
    case 4...5: .retryOnce
    case 6: .stallOnce
    case 7: .hangOnce
    case 8: .crashOnce(isNamed: true)
    case 9: .crashOnce(isNamed: false)
    default: .fetch
    }
  }

  /// Why a link cannot be fetched, and how its attachments end; `nil`: it can.
  func linkFault(_ content: String) -> (code: String, isRejected: Bool)? {
    switch linkAct(content) {
    case .fail: ("gone", false)
    case .reject: ("too-large-to-fetch", true)
    case .wrong: ("hash-mismatch", false)
    default: nil
    }
  }

  /// How links are fetched; `nil`: they are not.
  static func downloads(_ chance: Chance) -> DownloadsDefinition? {
    if !hasLinks(chance) { return nil }
    var description = StageDescription(id: ScriptedSource.id, version: "1", summary: "", file: "")
    (description.role, description.capability) = (.source, .network)
    var stage = StageDefinition(id: ScriptedSource.id, description: description, values: [])
    stage.timeout = 3000
    var downloads = DownloadsDefinition(stage: stage)
    downloads.connections = chance.integer(1...4, "connections")
    downloads.minFree = 0
    if chance.oneIn(3, "prefetch") { downloads.prefetch = chance.integer(1...3, "prefetched") }
    downloads.retry.backoff = 300
    return downloads
  }
}

import LedgerPort
import LedgerRules
import Pipeline
import Platform
import SQLite

/// Which links are fetched by themselves: those of the newest messages of each conversation. A claim decides, so that what came
/// before it counts as a whole. What is not wanted is put aside, where no claim looks: it comes back when something is changed that
/// may make it wanted.
struct Prefetch {
  /// So many messages of each conversation; 0: all links are fetched.
  var messages = 0
  /// The newest messages of conversations, as far as they were asked for.
  fileprivate var windows: [ByteText: Set<ByteText>] = [:]
  /// Conversations of which something was deleted: an older message may have moved up.
  fileprivate var shrunk: Set<ByteText> = []
  /// Messages that have got a link, and so are the newest of their conversations.
  fileprivate var renewed: Set<[ByteText]> = []
  /// Those that were put aside by another coordinator, or under another rule, are looked at again: their keys are less
  /// than this. `nil`: that is done.
  fileprivate var unseen: Int64? = .max
  /// The index that it needs is there.
  fileprivate var hasIndex = false

  /// Conversations that are kept, and what one exchange looks at, at most.
  static let (kept, looks) = (1000, 500)
  /// A link that so many attachments wait for is wanted in any case: to look at them all would take long.
  fileprivate static let crowd: Int64 = 1000

  init(messages: Int = 0) { self.messages = messages }

  /// Whether some are still to be looked at.
  var isLooking: Bool { unseen != nil && messages > 0 }

  /// What was done last is undone.
  mutating func lookAgain() { self = Prefetch(messages: messages) }

  /// - Parameter message: `nil`: it is made for the link.
  mutating func addLink(to message: String?, of conversation: String) {
    guard messages > 0, let message else { return }
    windows[ByteText(conversation)] = nil
    renewed.insert([ByteText(conversation), ByteText(message)])
  }

  mutating func shrink(_ conversation: String) {
    if messages == 0 { return }
    windows[ByteText(conversation)] = nil
    shrunk.insert(ByteText(conversation))
  }
}

extension SQLiteLedger {
  /// A claim follows the rule that it names: what was put aside under another is looked at again.
  func follow(_ messages: Int) throws {
    if messages != prefetch.messages { prefetch = Prefetch(messages: messages) }
    if messages > 0 && !prefetch.hasIndex {
      try connection.execute(SQL.addPrefetchIndex)
      prefetch.hasIndex = true
    }
    guard let unseen = prefetch.unseen else { return }
    var keys: [Int64] = []
    try statement(SQL.asideBefore).rows(.integer(unseen), .integer(Int64(Prefetch.looks))) {
      keys.append($0.integer(0))
    }
    for key in keys where try messages == 0 || isWanted(key) { _ = try takeUp(key) }
    prefetch.unseen = keys.count < Prefetch.looks ? nil : keys.last
  }

  /// Where messages were deleted, what the older ones that have moved up wait for is wanted now; and where an old message has got
  /// another link, so are its others.
  func refillWindows(_ tally: inout ExchangeTally) throws {
    defer { (prefetch.shrunk, prefetch.renewed) = ([], []) }
    // Without the index nothing was claimed yet: then all are looked at again.
    guard prefetch.hasIndex else { return }
    for conversation in prefetch.shrunk {
      for message in try window(of: conversation) { try takeUp(message, of: conversation, &tally) }
    }
    for message in prefetch.renewed where try window(of: message[0]).contains(message[1]) {
      try takeUp(message[1], of: message[0], &tally)
    }
  }

  private func takeUp(
    _ message: ByteText, of conversation: ByteText, _ tally: inout ExchangeTally
  ) throws {
    var keys: [Int64] = []
    try statement(SQL.transfersOfMessage).rows(.text(conversation.text), .text(message.text)) {
      keys.append($0.integer(0))
    }
    for key in keys where try takeUp(key) { tally.touch(.downloads) }
  }

  /// Makes a transfer due that was put aside. False: the transfer was not put aside.
  private func takeUp(_ transfer: Int64) throws -> Bool {
    try statement(SQL.takeUp).run(.integer(transfer))
    if connection.changes == 0 { return false }
    try addTurn(of: JobKey(.transfer, transfer))
    return true
  }

  /// The newest messages with links. One is as new as its newest link.
  private func window(of conversation: ByteText) throws -> Set<ByteText> {
    if let known = prefetch.windows[conversation] { return known }
    var window: Set<ByteText> = []
    var before = Int64.max
    var isOver = false
    while !isOver {
      var count: Int64 = 0
      let page = Int64(max(prefetch.messages, 64))
      try statement(SQL.newestMessages).rows(.text(conversation.text), .integer(before), .integer(page)) {
        count += 1
        before = $0.integer(0)
        if window.count < prefetch.messages { window.insert(ByteText($0.text(1))) }
      }
      isOver = count < page || window.count == prefetch.messages
    }
    if prefetch.windows.count >= Prefetch.kept { prefetch.windows.removeAll() }
    prefetch.windows[conversation] = window
    return window
  }

  /// Whether a link is fetched without being asked for: one of its attachments is of a new message, or of none but its own.
  func isWanted(_ transfer: Int64) throws -> Bool {
    var messages: [(conversation: ByteText, message: ByteText)] = []
    var isAlone = false
    try statement(SQL.messagesOfTransfer).rows(.integer(transfer), .integer(Prefetch.crowd)) {
      isAlone = isAlone || $0.integer(2) == 1
      messages.append((ByteText($0.text(0)), ByteText($0.text(1))))
    }
    if isAlone || messages.isEmpty || messages.count == Prefetch.crowd { return true }
    return try messages.contains { try window(of: $0.conversation).contains($0.message) }
  }
}

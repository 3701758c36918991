import Platform

/// What the folders below a watched one are to Maildirs. Remembers what it has looked up until it is told to forget.
struct MaildirPlaces {
  enum Place: Equatable {
    /// No Maildir is around it.
    case ordinary
    /// `new` or `cur` of a Maildir: its files are messages.
    case messages
    /// A Maildir, or a folder in one: its files are no messages.
    case around
    /// What is in it is never looked into: `tmp`, where messages are written, and folders among messages.
    case closed
  }

  private var known: [[UInt8]: Place] = [:]

  mutating func forget() { known.removeAll(keepingCapacity: true) }

  /// - Parameter root: the watched folder.
  mutating func place(_ folder: [UInt8], below root: [UInt8]) -> Place {
    if let place = known[folder] { return place }
    let place = find(folder, below: root)
    known[folder] = place
    return place
  }

  private mutating func find(_ folder: [UInt8], below root: [UInt8]) -> Place {
    let slash = UInt8(ascii: "/")
    let isMaildir = MaildirPath.isMaildir(folder)
    guard folder.count > root.count, let end = folder.lastIndex(of: slash), end > 0 else {
      return isMaildir ? .around : .ordinary
    }
    let outer = Array(folder[..<end])
    switch place(outer, below: root) {
    case .messages, .closed: return .closed
    case .ordinary: return isMaildir ? .around : .ordinary
    case .around:
      let name = Array(folder[(end + 1)...])
      if !MaildirPath.isOwn(name) || !MaildirPath.isMaildir(outer) { return .around }
      return MaildirPath.folders.contains(name) ? .messages : .closed
    }
  }
}

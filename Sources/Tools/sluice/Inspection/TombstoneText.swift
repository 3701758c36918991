import LedgerPort
import Platform

/// What is left of a deleted attachment, as it is printed.
enum TombstoneText {
  static func text(_ tombstone: Tombstone) -> String {
    let facts = [
      ("id", tombstone.id), ("status", "deleted"), ("deleted", Clock.timestamp(tombstone.deletedAt)),
      ("by", Terminal.printable(tombstone.deletedBy)),
    ]
    return facts.map { "\(Help.pad($0.0, 14))\($0.1)\n" }.joined()
      + "\nIts content, metadata and history are gone. The same file under the same message is not taken in again.\n"
  }

  static func json(_ tombstone: Tombstone) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("record", "deletion")
      tombstone.write(to: &writer)
    }
    return writer.text + "\n"
  }
}

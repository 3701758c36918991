import LedgerPort

/// What an attachment told when it ended before. No recipient is told the same twice, and the last event says how it ended last: an
/// event of a type is told again only where the attachment has told something else since.
package struct ToldEvents {
  /// The types of its events, oldest first.
  package let types: [String]

  package init(_ types: [String]) {
    self.types = types
  }

  /// Those of an ending's events that are to be told.
  package func news(_ events: [OutgoingEvent]) -> [OutgoingEvent] {
    if types.isEmpty { return events.filter { !$0.recipients.isEmpty } }
    let now = Set(events.lazy.filter { !$0.recipients.isEmpty }.map(\.type))
    // What was told after the last that this ending does not tell.
    let current = Set(types[((types.lastIndex { !now.contains($0) } ?? -1) + 1)...])
    return events.filter { !$0.recipients.isEmpty && !current.contains($0.type) }
  }
}

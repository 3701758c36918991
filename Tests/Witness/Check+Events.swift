import Foundation

// Compares the recipients of each event with those who were told.
extension Check {
  func checkDeliveries(_ ledger: Ledger) {
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    var told: [Int64: Set<String>] = [:]
    for delivery in ledger.deliveries {
      guard let attachment = rows[delivery.attachment] else { continue }  // reported by the foreign key check
      told[attachment.key, default: []].insert("\(delivery.channel) \(delivery.recipient)")
      if let recipients = options.recipients, !recipients.contains(delivery.recipient) {
        found(
          .deliveryUninvited, "delivery \(delivery.id)", "\(delivery.recipient) is told of \(attachment.name)"
        )
      }
      let data = Self.object(delivery.data) ?? [:]
      if data["status"] as? String != attachment.status {
        found(
          .stateSecond, "delivery \(delivery.id)",
          "it tells \(delivery.recipient) that \(attachment.name) is \(data["status"] ?? "nothing"), and it is \(attachment.status)"
        )
      }
    }
    guard let recipients = options.recipients else { return }
    var channels = Set(options.events.keys).union(options.calls)
    if channels.isEmpty { channels = Set(ledger.deliveries.map(\.channel)) }
    for attachment in ledger.attachments where attachment.hasEnded {
      for channel in channels.sorted() {
        for recipient in recipients.sorted()
        where told[attachment.key]?.contains("\(channel) \(recipient)") != true {
          found(.deliveryMissing, attachment.name, "\(recipient) is not told of it on '\(channel)'")
        }
      }
    }
  }

  // MARK: Files of events

  func checkFile(_ ledger: Ledger, _ channel: String, _ file: String) throws {
    var deliveries: [String: Ledger.Delivery] = [:]
    for delivery in ledger.deliveries where delivery.channel == channel { deliveries[delivery.id] = delivery }
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    let data = FileManager.default.contents(atPath: file) ?? Data()
    let whole = data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    if options.isDrained && whole < data.count {
      found(.eventTorn, file, "its last line has no end")
    }
    var lines: [String: String] = [:]
    for (number, line) in data[..<whole].split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    )
    .dropLast().enumerated() {
      let place = "\(file):\(number + 1)"
      guard let event = try? JSONSerialization.jsonObject(with: line) as? [String: Any],
        let id = event["id"] as? String
      else {
        found(.eventTorn, place, "this is no event")
        continue
      }
      if lines.updateValue(Digest.sha256(Data(line)), forKey: id) != nil {
        found(.eventDoubled, place, "\(id) stands there before")
      }
      guard let delivery = deliveries[id] else {
        found(.eventUnknown, place, "the ledger knows no delivery \(id) on '\(channel)'")
        continue
      }
      if let fault = Self.difference(event, delivery, rows[delivery.attachment]) {
        found(.eventWrong, place, "\(id): \(fault)")
      }
    }
    for delivery in deliveries.values.sorted(by: { $0.key < $1.key })
    where delivery.status == "delivered" && lines[delivery.id] == nil {
      found(.eventMissing, "delivery \(delivery.id)", "it is delivered, and does not stand in \(file)")
    }
    for entry in seen["event"] ?? [] where entry["channel"] as? String == channel {
      let id = entry["id"] as? String ?? ""
      if lines[id] == nil || lines[id] != entry["line"] as? String {
        found(
          .eventGone, "\(file), event \(id)",
          "it was seen there, and is \(lines[id] == nil ? "gone" : "another")")
      }
    }
  }

  // MARK: Calls of webhooks

  func checkCalls(_ ledger: Ledger, _ channel: String) {
    var deliveries: [String: Ledger.Delivery] = [:]
    for delivery in ledger.deliveries where delivery.channel == channel { deliveries[delivery.id] = delivery }
    let rows = Dictionary(ledger.attachments.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    var received: [String: String] = [:]
    for call in seen["call"] ?? [] where call["channel"] as? String == channel {
      let id = call["id"] as? String ?? ""
      let body = call["body"] as? String ?? ""
      let place = "call \(id)"
      if let earlier = received.updateValue(body, forKey: id), earlier != body {
        found(.callWrong, place, "it came twice, and not the same")
        continue
      }
      guard let delivery = deliveries[id] else {
        found(.callUnknown, place, "the ledger knows no delivery of this id on '\(channel)'")
        continue
      }
      let fault =
        Self.object(body).map { Self.difference($0, delivery, rows[delivery.attachment]) }
        ?? "it is no JSON object"
      if let fault { found(.callWrong, place, fault) }
    }
    for delivery in deliveries.values.sorted(by: { $0.key < $1.key })
    where delivery.status == "delivered" && received[delivery.id] == nil {
      found(.callMissing, "delivery \(delivery.id)", "it is delivered on '\(channel)', and no call came")
    }
  }

  // MARK: The content of an event

  static func object(_ text: String) -> [String: Any]? {
    try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
  }

  /// How an event differs from the expected one; `nil`: it does not.
  private static func difference(
    _ event: [String: Any], _ delivery: Ledger.Delivery, _ attachment: Ledger.Attachment?
  ) -> String? {
    guard let attachment, var data = event["data"] as? [String: Any] else { return "it is of no attachment" }
    func differs(_ name: String, _ expected: String?) -> String? {
      let said = data[name].flatMap { $0 is NSNull ? nil : "\($0)" }
      return said == expected ? nil : "its \(name) is \(said ?? "none"), and must be \(expected ?? "none")"
    }
    if event["id"] as? String != delivery.id { return "its id is \(event["id"] ?? "missing")" }
    if event["type"] as? String != delivery.type { return "its type is \(event["type"] ?? "missing")" }
    let expected: [(name: String, value: String?)] = [
      ("recipientId", delivery.recipient), ("attachmentId", attachment.id),
      ("conversationId", attachment.conversation), ("messageId", attachment.message),
      ("senderId", attachment.sender), ("fileName", attachment.fileName), ("status", attachment.status),
      ("url", attachment.url), ("sha256", attachment.sha256), ("sizeBytes", attachment.size.map(String.init)),
    ]
    for (name, value) in expected {
      if let fault = differs(name, value) { return fault }
    }
    data["recipientId"] = nil
    guard let recorded = object(delivery.data),
      NSDictionary(dictionary: data) == NSDictionary(dictionary: recorded)
    else { return "it says something else than its event on record" }
    return nil
  }
}

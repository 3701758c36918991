import Foundation
import Pipeline
import Platform
import Testing

@testable import LedgerPort
@testable import Scheduler

struct EventBodyTests {
  private static let hostile = "a\"b\\c\n\u{0}\u{1F}{}\u{301}🎈"

  private static func data(metadata: String = "{}", reason: Reason? = nil) -> String {
    EventData.text(
      AttachmentOrigin(
        id: "id-1", conversationId: hostile, messageId: "m", senderId: "ann", fileName: hostile),
      AttachmentOutcome(
        reason == nil ? .completed : .rejected, reason: reason, mediaType: "application/pdf", sizeBytes: 12,
        sha256: [0xAB, 0x01], metadata: metadata, url: reason == nil ? "documents/a" : nil))
  }

  private static func delivery(data: String, recipient: String = "ben") -> LeasedDelivery {
    LeasedDelivery(
      key: 1, id: "event-1", channel: "events", recipient: recipient, type: "attachment.completed",
      data: data,
      createdAt: 951_782_400_000, attachmentId: "id-1", conversationId: "c", messageId: "m")
  }

  private static func object(_ json: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
  }

  @Test func anEventTellsItsRecipientWhoItIs() throws {
    for recipient in ["ben", "", Self.hostile] {
      let body = Self.delivery(data: Self.data(), recipient: recipient).body
      let data = try #require(try Self.object(body)["data"] as? [String: Any])
      #expect(data["recipientId"] as? String == recipient)
      #expect(data["attachmentId"] as? String == "id-1" && data["sizeBytes"] as? Int == 12)
    }
  }

  @Test func anEventHasItsIdItsTypeAndItsTime() throws {
    let event = try Self.object(Self.delivery(data: Self.data()).body)
    #expect(Set(event.keys) == ["id", "type", "timestamp", "data"])
    #expect(event["id"] as? String == "event-1" && event["type"] as? String == "attachment.completed")
    #expect(event["timestamp"] as? String == "2000-02-29T00:00:00.000Z")
  }

  @Test func anEventWithoutDataStillTellsItsRecipient() {
    let body = Self.delivery(data: "{}").body
    #expect(body.hasSuffix(#""data":{"recipientId":"ben"}}"#))
  }

  @Test func whatASenderWroteIsQuoted() throws {
    let data = try Self.object(Self.data())
    #expect(data["fileName"] as? String == Self.hostile && data["conversationId"] as? String == Self.hostile)
    #expect(data["sha256"] as? String == "ab01" && data["url"] as? String == "documents/a")
    #expect(data["reason"] is NSNull && data["status"] as? String == "completed")
  }

  @Test func aReasonIsTold() throws {
    let reason = Reason(stage: "size", code: "too-large", message: Self.hostile)
    let data = try Self.object(Self.data(reason: reason))
    let told = try #require(data["reason"] as? [String: String])
    #expect(told == ["stage": "size", "code": "too-large", "message": Self.hostile])
    #expect(data["status"] as? String == "rejected" && data["url"] is NSNull)
  }

  @Test func metadataKeepsItsTypesAndItsOrder() throws {
    let metadata = JSONWriter.object(of: [
      .init(key: "z", value: .text(Self.hostile)), .init(key: "a", value: .integer(.max)),
      .init(key: "n", value: .number(1.5)), .init(key: "b", value: .boolean(false)),
      .init(key: "nan", value: .number(.nan)),
    ])
    #expect(
      metadata.hasPrefix(#"{"z":"#)
        && metadata.hasSuffix(#""a":9223372036854775807,"n":1.5,"b":false,"nan":null}"#))
    let data = try Self.object(Self.data(metadata: metadata))
    #expect((data["metadata"] as? [String: Any])?["z"] as? String == Self.hostile)
    #expect(JSONWriter.object(of: []) == "{}")
  }

  @Test func anEventStaysSmall() throws {
    func metadata(_ count: Int) -> String { #"{"k":""# + String(repeating: "x", count: count - 8) + #""}"# }
    #expect(try Self.object(Self.data(metadata: metadata(8192)))["metadata"] != nil)
    #expect(try Self.object(Self.data(metadata: metadata(8193)))["metadata"] == nil)
  }
}

import Ledger
import Platform

/// Deliveries as they are printed.
enum DeliveryText {
  /// The members of the JSON object.
  ///
  /// - Parameter now: in milliseconds since 1970.
  static func members(_ delivery: DeliveryRecord, at now: Int64, _ writer: inout JSONWriter) {
    writer.member("id", delivery.id)
    writer.member("attachmentId", delivery.attachmentId)
    writer.member("type", delivery.type)
    writer.member("channel", delivery.channel)
    writer.member("recipient", delivery.recipient)
    writer.member("status", delivery.status.rawValue)
    writer.member("code", delivery.code)
    writer.member("reason", delivery.reason)
    writer.member("finishedAt", delivery.finishedAt.map(Clock.timestamp))
    if delivery.status == .pending {
      writer.member("attempts", Int64(delivery.attempts))
      writer.member("nextAt", delivery.nextDue.map { Clock.timestamp(now + $0) })
    }
  }
}

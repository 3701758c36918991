import FrontWire
import Ledger

extension FrontRequest {
  /// The trace that it belongs to; `nil`: none, or one that is not understood, which is to be passed over
  /// (https://www.w3.org/TR/trace-context/#a-traceparent-is-received).
  var traceparent: String? {
    field("traceparent").flatMap { IntakeItem.isTraceparent($0) ? $0 : nil }
  }
}

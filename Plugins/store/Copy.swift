import StageKit

/// An object in the incoming folder that is not yet durable.
struct Copy {
  let attachment: Attachment
  /// Open until it is synced; -1 for a link to an object that was synced before.
  let descriptor: Int32
}

/// The values of the options.
struct Settings {
  var connections = 8
  var perHost = 4
  var redirects = 5
  /// Milliseconds, like the other two.
  var connectTimeout: Int64 = 10_000
  var idleTimeout: Int64 = 30_000
  var totalTimeout: Int64 = 1_800_000
  /// Bytes a second; 0: no limit.
  var rate: Int64 = 0
  /// Whether the next request to a host may go out on the connection of an earlier one.
  var reusesConnections = true
  var form = ResponseForm.body
  var admission = Admission()
}

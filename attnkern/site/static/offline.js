/* Opened from a disk, a page may not read JSON files, but it may load scripts. Beside each JSON file of the site lies
   one that hands over the same; this makes jQuery's requests take that way. */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  window.attnkernTake = function (data) {
    document.currentScript.attnkernData = { data: data };
  };

  jQuery.ajaxPrefilter("json", function () { return "offline"; });
  jQuery.ajaxTransport("offline", function (options) {
    var script = document.createElement("script");
    return {
      send: function (headers, complete) {
        script.src = options.url.replace(/[?#].*$/, "") + ".js";
        script.onload = function () {
          script.remove();
          complete(200, "OK", { offline: script.attnkernData.data });
        };
        script.onerror = function () {
          script.remove();
          complete(404, "Not found");
        };
        document.head.appendChild(script);
      },
      abort: function () { script.remove(); }
    };
  });
  jQuery.ajaxSetup({ converters: { "offline json": function (data) { return data; } } });
})();

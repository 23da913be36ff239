/* Draws one series' chart from the page's own data: both formulations above, the gap beneath on the same axis. */
(function () {
  "use strict";
  var element = document.getElementById("chart");
  if (!window.echarts) return; // the table holds all of it, and the page says so
  var data = JSON.parse(document.getElementById("data").textContent);
  var told = document.getElementById("told");
  var forms = ["direct", "transposed"];
  var marks = { direct: "circle", transposed: "rect" };
  var count = data.releases.length;
  var many = count > 300;
  var at = -1;
  document.getElementById("no-chart").remove();
  element.classList.add("drawn");
  var chart = null;

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  function clamped(value) {
    return value === null ? null : data.floor ? Math.max(value, data.floor) : value;
  }

  function lineOf(name, points, axis) {
    return {
      name: name, type: "line", xAxisIndex: axis, yAxisIndex: axis,
      data: points.map(function (point) { return axis ? point.v : clamped(point.v); }),
      symbol: axis ? "diamond" : marks[name], symbolSize: many ? 3 : 7, showAllSymbol: !many, connectNulls: false,
      color: axis ? colour("ink") : colour(name), lineStyle: { width: many ? 1 : 2 }, z: 3, animation: false
    };
  }

  /* The interval: an invisible lower edge, and a band stacked on it. */
  function bandOf(name, points, axis) {
    if (!points.some(function (point) { return point.i; })) return [];
    var shared = {
      type: "line", xAxisIndex: axis, yAxisIndex: axis, symbol: "none", silent: true, stack: "band " + name,
      stackStrategy: "all", lineStyle: { opacity: 0 }, tooltip: { show: false }, animation: false
    };
    return [
      Object.assign({}, shared, {
        name: name + " low", data: points.map(function (point) { return point.i ? point.i[0] : null; })
      }),
      Object.assign({}, shared, {
        name: name + " high", areaStyle: { color: axis ? colour("ink") : colour(name), opacity: 0.25 },
        data: points.map(function (point) { return point.i ? point.i[1] - point.i[0] : null; })
      })
    ];
  }

  /* Below all values: where a failure without one stands. */
  function foot() {
    var values = forms.flatMap(function (form) { return data.series[form].map(function (p) { return clamped(p.v); }); })
      .filter(function (value) { return value !== null; });
    if (!values.length) return 1;
    var low = Math.min.apply(null, values), high = Math.max.apply(null, values);
    return data.log ? low / 1.6 : Math.max(low - 0.1 * (high - low || high), 0);
  }

  /* Failures stand as crosses: on the curve where the code exists, beneath it where there is none. */
  function failuresOf() {
    var below = foot();
    return forms.map(function (form) {
      var points = [];
      data.series[form].forEach(function (point, place) {
        if (!point.f) return;
        var absent = point.v === null;
        points.push({ value: [place, absent ? below : clamped(point.v)], symbolOffset: [absent ? (form === "direct" ? -6 : 6) : 0, 0] });
      });
      return {
        name: form + " fails", type: "scatter", xAxisIndex: 0, yAxisIndex: 0, data: points, z: 5, animation: false,
        symbol: "path://M0,2 L2,0 L6,4 L10,0 L12,2 L8,6 L12,10 L10,12 L6,8 L2,12 L0,10 L4,6 Z", symbolSize: 10,
        itemStyle: { color: colour(form), borderColor: colour("ink"), borderWidth: 0.5 }, tooltip: { show: false }, cursor: "default"
      };
    });
  }

  /* A finding stands where it happened, pointing up for worse and down for better. */
  function findingsOf(on) {
    var axis = on === "gap" ? 1 : 0;
    var points = on === "gap" ? data.gap : data.series[on];
    return {
      name: "findings of " + on, type: "scatter", xAxisIndex: axis, yAxisIndex: axis, z: 6, animation: false,
      tooltip: { show: false },
      data: data.findings.filter(function (finding) { return finding.on === on && points[finding.at].v !== null; }).map(function (finding) {
        var value = axis ? points[finding.at].v : clamped(points[finding.at].v);
        return {
          value: [finding.at, value], id: finding.id, symbol: "triangle",
          symbolRotate: finding.severity === "good" ? 180 : 0, symbolSize: 11, symbolOffset: [0, finding.severity === "good" ? 14 : -14],
          itemStyle: { color: finding.severity === "good" ? colour("paper") : colour(finding.severity),
            borderColor: colour(finding.severity), borderWidth: 2, opacity: finding.acknowledged ? 0.45 : 1 }
        };
      })
    };
  }

  function sentence(place) {
    var parts = forms.map(function (form) {
      var point = data.series[form][place];
      var interval = point.i ? " (" + point.i[0].toPrecision(4) + " to " + point.i[1].toPrecision(4) + ")" : "";
      return form + " " + point.t + interval + (point.f ? ", " + point.f : "");
    });
    parts.push("gap " + data.gap[place].t + (data.gap[place].i ? " (" + data.gap[place].i.map(function (v) { return v.toPrecision(4); }).join(" to ") + ")" : ""));
    var kinds = data.findings.filter(function (finding) { return finding.at === place; }).map(function (finding) { return finding.kind; });
    if (kinds.length) parts.push("findings: " + kinds.join(", "));
    return data.releases[place] + ": " + parts.join("; ");
  }

  function line(text, strong) {
    var node = document.createElement(strong ? "strong" : "div");
    node.textContent = text; // a compiler's message may hold anything
    node.style.cssText = "display:block;white-space:normal;max-width:26rem";
    return node;
  }

  function hover(place) {
    var box = document.createElement("div");
    box.append(line(data.releases[place], true));
    forms.forEach(function (form) {
      var point = data.series[form][place];
      box.append(line(form + ": " + point.t + (point.i ? "  [" + point.i[0].toPrecision(4) + ", " + point.i[1].toPrecision(4) + "]" : "")));
      if (point.d) box.append(line(point.d));
      if (point.f) box.append(line(point.f));
    });
    var gap = data.gap[place];
    box.append(line("gap: " + gap.t + (gap.i ? "  [" + gap.i[0].toPrecision(4) + ", " + gap.i[1].toPrecision(4) + "]" : "")));
    data.findings.filter(function (finding) { return finding.at === place; }).forEach(function (finding) {
      box.append(line(finding.severity + ": " + finding.kind + (finding.acknowledged ? " (acknowledged)" : "")));
    });
    return box;
  }

  /* Room about the gap and the line at 1, for the findings' marks. */
  function edges(range) {
    var low = Math.min(1, range.min), high = Math.max(1, range.max), room = 0.2 * (high - low) || 0.05;
    return [low - room, high + room];
  }

  function options() {
    var ink = colour("ink"), quiet = colour("quiet"), rule = colour("rule");
    var x = { type: "category", data: data.releases, boundaryGap: true, axisLine: { lineStyle: { color: quiet } }, axisPointer: { show: true } };
    var y = { nameTextStyle: { color: quiet, align: "left" }, axisLabel: { color: quiet }, splitLine: { lineStyle: { color: rule, opacity: 0.5 } }, scale: true };
    var zoom = many ? [{ type: "slider", xAxisIndex: [0, 1], bottom: 4, height: 22 }, { type: "inside", xAxisIndex: [0, 1] }] : [];
    return {
      aria: { enabled: false }, backgroundColor: "transparent", animation: false, textStyle: { color: ink, fontFamily: getComputedStyle(document.body).fontFamily },
      legend: { data: forms.concat(forms.map(function (form) { return form + " fails"; }).filter(function (name, place) {
        return data.series[forms[place]].some(function (point) { return point.f; });
      })), top: 0, right: 10, itemGap: 24, textStyle: { color: ink }, selectedMode: false },
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: { trigger: "axis", confine: true, renderMode: "html", backgroundColor: colour("paper"), borderColor: rule, textStyle: { color: ink, fontSize: 13 },
        formatter: function (items) { return hover(items[0].dataIndex); } },
      grid: [{ left: 60, right: 16, top: 48, height: "54%" }, { left: 60, right: 16, top: "72%", bottom: many ? 76 : 44 }],
      xAxis: [
        Object.assign({}, x, { gridIndex: 0, axisLabel: { show: false } }),
        Object.assign({}, x, { gridIndex: 1, axisLabel: { color: quiet, rotate: 45, hideOverlap: true } })
      ],
      yAxis: [
        Object.assign({}, y, { gridIndex: 0, type: data.log ? "log" : "value", name: data.what }),
        Object.assign({}, y, { gridIndex: 1, type: "value", name: "gap, ×", splitNumber: 3,
          min: function (range) { return edges(range)[0]; }, max: function (range) { return edges(range)[1]; },
          axisLabel: { color: quiet, showMinLabel: false, showMaxLabel: false } })
      ],
      dataZoom: zoom,
      series: [].concat(
        bandOf("direct", data.series.direct, 0), bandOf("transposed", data.series.transposed, 0), bandOf("gap", data.gap, 1),
        forms.map(function (form) { return lineOf(form, data.series[form], 0); }),
        [Object.assign(lineOf("gap", data.gap, 1), {
          markLine: { silent: true, symbol: "none", animation: false, data: [{ yAxis: 1 }], lineStyle: { color: quiet, type: "dashed" }, label: { show: false } }
        })],
        failuresOf(), forms.concat(["gap"]).map(findingsOf)
      )
    };
  }

  function draw() {
    if (chart) chart.dispose();
    chart = echarts.init(element, null, { renderer: many ? "canvas" : "svg" });
    chart.setOption(options());
    chart.on("click", function (event) {
      if (event.data && event.data.id) location.hash = event.data.id;
      else if (event.dataIndex !== undefined && event.seriesType === "line") open(event.dataIndex);
    });
  }

  function open(place) {
    location.href = "revisions/" + data.commits[place] + ".html";
  }

  function show(place) {
    at = Math.min(Math.max(place, 0), count - 1);
    told.textContent = sentence(at);
    var series = chart.getOption().series.findIndex(function (one) { return one.name === "direct"; });
    chart.dispatchAction({ type: "showTip", seriesIndex: series, dataIndex: at });
  }

  element.addEventListener("keydown", function (event) {
    var moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1 };
    if (event.key === "Enter" && at >= 0) open(at);
    else if (event.key === "Escape") chart.dispatchAction({ type: "hideTip" });
    else if (event.key in moves) show(moves[event.key]);
    else return;
    event.preventDefault();
  });
  window.addEventListener("resize", function () { chart.resize(); });
  window.addEventListener("beforeprint", draw);
  window.addEventListener("afterprint", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();

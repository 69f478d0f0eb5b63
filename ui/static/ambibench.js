// AmbiBench's entry: the form that begins free play. The pages of an episode are those of study.js.
"use strict";

(() => {
  window.askback.part({
    apply() {
      if (this.kind === "ambibench-entry") this.amFit();
    },

    hear: {
      change(event) {
        if (event.target.closest("[data-form=am-start]")) this.amFit();
      },
    },

    forms: {
      "am-start"(form) { this.amBegin(form); },
    },

    methods: {
      amFit() {
        const form = this.one("[data-form=am-start]");
        for (const field of form.querySelectorAll("[data-for-setting]")) field.hidden = field.dataset.forSetting !== form.elements.setting.value;
      },

      async amBegin(form) {
        const fields = form.elements;
        const setting = fields.setting.value;
        await this.stGo("start", {
          room: "ambibench",
          setting,
          kind: fields[`kind-${setting}`].value,
          format: fields.format.value || null,
          feature: fields.feature.value || null,
        }, form.querySelector("[type=submit]"));
      },
    },
  });
})();

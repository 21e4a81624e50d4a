"use strict";
document.documentElement.classList.add("js");
{% include "links.js" %}
{% include "copying.js" %}
{% include "filters.js" %}
{% include "table.js" %}

/** Names of more than one word that are known everywhere: functions, their parameters, types and properties. */
export const BUILTIN_NAMES: readonly string[] = [
  ...["date and time", "years and months duration", "days and time duration", "get value", "get entries"],
  ...["substring before", "substring after", "string length", "upper case", "lower case", "starts with", "ends with"],
  ...[
    "string join",
    "list contains",
    "insert before",
    "index of",
    "distinct values",
    "list replace",
    "duplicate values",
  ],
  ...["round up", "round down", "round half up", "round half down", "context put", "context merge", "random number"],
  ...["day of year", "day of week", "month of year", "week of year", "last day of month"],
  ...["met by", "overlaps before", "overlaps after", "finished by", "started by"],
  ...["is defined", "get or else", "is empty", "is blank", "to json", "from json", "to base64", "from base64"],
  ...["time offset", "start included", "end included"],
];
